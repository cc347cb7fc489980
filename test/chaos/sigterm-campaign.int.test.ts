import { afterAll, describe, expect, it } from 'vitest'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { runCampaign } from './sigterm/campaign.ts'
import { reportOf, violationsOf } from './sigterm/report.ts'

const found = await findRabbitmq()
const isOurs = found.found && found.isPrivate
const server = isOurs ? await found.start() : undefined
afterAll(async () => await server?.close())
const why = found.found ? ' (skipped: the server is not ours)' : ` (skipped: ${found.why})`

const SIZE = { seed: 1, messages: 300, consumers: 3, faults: { one: 3, two: 1, starting: 1, all: 1 } }
const ENDS = { handled: 288, dead: 12 }

/** Short forms of `npm run chaos:sigterm`; docs/campaigns.md has the reports. */
describe('a campaign of SIGTERMs with slow handlers', () => {
  it('E21, B15: on SQLite each event has one end, and no effect comes again that ended within the grace time', async () => {
    const result = await runCampaign({ ...SIZE, broker: 'sqlite' }, undefined)
    expect(violationsOf(result), reportOf(result).join('\n')).toEqual([])
    expect(result.findings).toMatchObject(ENDS)
  })

  it.runIf(isOurs)(`E21, B15: the same on RabbitMQ${isOurs ? '' : why}`, async () => {
    const result = await runCampaign({ ...SIZE, broker: 'rabbitmq' }, server!.url)
    expect(violationsOf(result), reportOf(result).join('\n')).toEqual([])
    expect(result.findings).toMatchObject(ENDS)
  })
})
