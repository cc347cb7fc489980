import { afterAll, describe, expect, it } from 'vitest'
import { findRedis } from '../services/redis.ts'
import { runCampaign } from './redis/campaign.ts'
import { reportOf, violationsOf } from './redis/report.ts'

const found = await findRedis()
const isOurs = found.found && found.isPrivate
const server = isOurs ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = found.found ? ' (skipped: the server is not ours to stop)' : ` (skipped: ${found.why})`

/** The short form of `npm run chaos:redis`; docs/campaigns.md has the report of the long one. */
describe.runIf(isOurs)(`a campaign of faults on Redis Streams${isOurs ? '' : why}`, () => {
  it('E21, B8: consumers are killed or hang, the server crashes or stands still, connections are cut: each event is handled or dead', async () => {
    const faults = { kill: 2, hang: 1, restart: 2, freeze: 1, cut: 2 }
    const options = { seed: 1, messages: 2_000, consumers: 3, faults }
    const result = await runCampaign(options, server!.node!)
    expect(violationsOf(result), reportOf(result).join('\n')).toEqual([])
    expect(result.findings).toMatchObject({ handled: 1_980, dead: 20 })
  })
})
