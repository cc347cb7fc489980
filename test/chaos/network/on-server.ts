import { writeLine } from '../../support/write-line.ts'
import { progress, withPrivateServer } from '../campaign/command.ts'
import { runCampaign } from './campaign.ts'
import { type Layout, serverOf } from './hosts.ts'
import type { CampaignOptions } from './plan.ts'
import { SERVERS } from './servers.ts'

// A campaign, in a process on the host of the server. Its result is its output.
const { options, layout }: { options: CampaignOptions; layout: Layout } = JSON.parse(process.argv[2]!)
const found = await SERVERS[options.broker](serverOf(layout).address)
const result = await withPrivateServer(options.broker, found, server =>
  runCampaign(options, layout, server, progress),
)
writeLine(JSON.stringify(result))
process.exit()
