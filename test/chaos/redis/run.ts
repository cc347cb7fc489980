import { parseArgs } from 'node:util'
import { findRedis } from '../../services/redis.ts'
import { whole } from '../campaign/arguments.ts'
import { runCampaign } from './campaign.ts'
import type { CampaignOptions } from './plan.ts'
import { reportOf, violationsOf } from './report.ts'

const USAGE =
  'usage: npm run chaos:redis -- [--events 50000] [--seed 1] [--consumers 4] [--kills 12] [--hangs 3] [--restarts 6] [--freezes 3] [--cuts 10]'

const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '50000' },
      seed: { type: 'string', default: '1' },
      consumers: { type: 'string', default: '4' },
      kills: { type: 'string', default: '12' },
      hangs: { type: 'string', default: '3' },
      restarts: { type: 'string', default: '6' },
      freezes: { type: 'string', default: '3' },
      cuts: { type: 'string', default: '10' },
    },
  })
  await run({
    seed: whole(values.seed),
    messages: whole(values.events),
    consumers: whole(values.consumers),
    troubles: {
      kill: whole(values.kills),
      hang: whole(values.hangs),
      restart: whole(values.restarts),
      freeze: whole(values.freezes),
      cut: whole(values.cuts),
    },
  })
} catch (error) {
  process.stderr.write(`chaos: ${error instanceof Error ? error.message : error}; ${USAGE}\n`)
  process.exitCode = 2
}

async function run(options: CampaignOptions): Promise<void> {
  const found = await findRedis()
  if (!found.found || !found.isPrivate) throw new Error('it needs a Redis of its own, to kill it')
  const server = await found.start()
  try {
    const result = await runCampaign(options, server.node!, line => process.stderr.write(`${line}\n`))
    for (const line of reportOf(result)) print(line)
    const violations = violationsOf(result)
    for (const violation of violations) print(`VIOLATION: ${violation}`)
    if (violations.length > 0) process.exitCode = 1
  } finally {
    await server.close()
  }
}
