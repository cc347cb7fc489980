import { parseArgs } from 'node:util'
import { findNewestPostgres, findPostgres, type Postgres } from '../../services/postgres.ts'
import { whole } from '../campaign/arguments.ts'
import { runCampaign } from './campaign.ts'
import type { CampaignOptions } from './plan.ts'
import { reportOf, violationsOf } from './report.ts'

const USAGE =
  'usage: npm run chaos:outbox -- [--events 100000] [--seed 1] [--relays 8] [--kills 24] [--restarts 6] [--outages 2] [--freezes 6] [--cuts 10] [--newest]'

const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '100000' },
      seed: { type: 'string', default: '1' },
      relays: { type: 'string', default: '8' },
      kills: { type: 'string', default: '24' },
      restarts: { type: 'string', default: '6' },
      outages: { type: 'string', default: '2' },
      freezes: { type: 'string', default: '6' },
      cuts: { type: 'string', default: '10' },
      newest: { type: 'boolean', default: false },
    },
  })
  const options = {
    seed: whole(values.seed),
    messages: whole(values.events),
    relays: whole(values.relays),
    troubles: {
      kill: whole(values.kills),
      restart: whole(values.restarts),
      outage: whole(values.outages),
      freeze: whole(values.freezes),
      cut: whole(values.cuts),
    },
  }
  await run(options, values.newest ? await findNewestPostgres() : await findPostgres())
} catch (error) {
  process.stderr.write(`chaos: ${error instanceof Error ? error.message : error}; ${USAGE}\n`)
  process.exitCode = 2
}

async function run(options: CampaignOptions, found: Postgres): Promise<void> {
  if (!found.found || !found.isPrivate) throw new Error('it needs a Postgres of its own, to stop it')
  const server = await found.start()
  try {
    const result = await runCampaign(options, server, line => process.stderr.write(`${line}\n`))
    for (const line of reportOf(result)) print(line)
    const violations = violationsOf(result)
    for (const violation of violations) print(`VIOLATION: ${violation}`)
    if (violations.length > 0) process.exitCode = 1
  } finally {
    await server.close()
  }
}
