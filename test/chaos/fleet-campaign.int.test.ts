import { afterAll, describe, expect, it } from 'vitest'
import { findPostgres } from '../services/postgres.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { runCampaign } from './fleet/campaign.ts'
import { reportOf } from './fleet/report.ts'
import { violationsOf } from './fleet/rules.ts'

const [postgres, amqp] = [await findPostgres(), await findRabbitmq()]
const isOurs = postgres.found && postgres.isPrivate && amqp.found
const servers = isOurs ? ([await postgres.start(), await amqp.start()] as const) : undefined
afterAll(async () => {
  for (const server of servers ?? []) await server.close()
})
const why = isOurs ? '' : ' (skipped: needs RabbitMQ and a private Postgres)'

/** The short form of `npm run chaos:fleet`; docs/campaigns.md has the report of the long one. */
describe.runIf(isOurs)(`a campaign of faults on a fleet${why}`, () => {
  it('B17, B18, E21: processes and the store are killed: no letter is lost, no command done twice, each is audited', async () => {
    const options = { seed: 1, messages: 60, services: 2, servers: 1, faults: { kill: 3, restart: 1 } }
    const result = await runCampaign(options, servers![0], servers![1].url)
    expect(violationsOf(result), [...result.evidence, ...reportOf(result)].join('\n')).toEqual([])
    expect(result.findings.sent).toBeGreaterThan(0)
    expect(result.findings.commands).toBeGreaterThan(0)
  })
})
