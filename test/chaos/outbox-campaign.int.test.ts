import { afterAll, describe, expect, it } from 'vitest'
import { findPostgres } from '../services/postgres.ts'
import { runCampaign } from './outbox/campaign.ts'
import { reportOf, violationsOf } from './outbox/report.ts'

const found = await findPostgres()
const isOurs = found.found && found.isPrivate
const server = isOurs ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = found.found ? ' (skipped: the server is not ours to stop)' : ` (skipped: ${found.why})`

/** The short form of `npm run chaos:outbox`; docs/campaigns.md has the report of the long one. */
describe.runIf(isOurs)(`a campaign of faults on the outbox${isOurs ? '' : why}`, () => {
  it('E21, S8, B9: relays are killed or freeze, Postgres crashes, connections are cut: each event ends once, its effect too, keys in order', async () => {
    const faults = { kill: 2, restart: 1, outage: 1, freeze: 2, cut: 2 }
    const options = { seed: 1, messages: 2_000, relays: 3, faults }
    const result = await runCampaign(options, server!)
    expect(violationsOf(result), reportOf(result).join('\n')).toEqual([])
    expect(result.findings).toMatchObject({ delivered: 1_980, failed: 20, replayed: 10 })
  })
})
