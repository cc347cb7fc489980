import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { runCampaign } from './campaign/campaign.ts'
import { reportOf, violationsOf } from './campaign/report.ts'
import { runCampaign as runOrderedCampaign } from './cluster/campaign.ts'
import { reportOf as orderReportOf, violationsOf as orderViolationsOf } from './cluster/report.ts'
import { rabbitmqCluster } from './rabbitmq/cluster.ts'

const found = await findRabbitmq()
const isOurs = found.found && found.isPrivate
const why = found.found ? ' (skipped: the server is not ours to kill)' : ` (skipped: ${found.why})`

/** Short forms of `npm run chaos:rabbitmq` and `npm run chaos:rabbitmq-order`; docs/campaigns.md has the report of the long one. */
describe.runIf(isOurs)(`a campaign of faults${isOurs ? '' : why}`, () => {
  // Each run has a server of its own, because messages of a run that failed would count in the next.
  let server: Awaited<ReturnType<Extract<typeof found, { readonly found: true }>['start']>>
  beforeEach(async () => {
    if (found.found) server = await found.start()
  })
  afterEach(() => server.close())

  it('E21: kills, cuts and a restart of the server: every message ends once, handled or dead', async () => {
    const result = await runCampaign(
      {
        seed: 1,
        messages: 2_000,
        queueType: 'quorum',
        faults: { kill: 2, cut: 3, restart: 1, hang: 1, freeze: 1 },
      },
      server.node!,
    )
    expect(violationsOf(result), reportOf(result).join('\n')).toEqual([])
    expect(result.findings.handled + result.findings.dead).toBe(2_000)
  })

  it('B9: kills, cuts, a restart of the server and a join: every event ends once, in the order of its key', async () => {
    const result = await runOrderedCampaign(
      {
        seed: 1,
        messages: 1_000,
        consumers: 2,
        ordering: 'by-key',
        faults: { kill: 2, cut: 2, broker: 1, rolling: 0, rebalance: 1 },
      },
      await rabbitmqCluster(server),
    )
    expect(orderViolationsOf(result), orderReportOf(result).join('\n')).toEqual([])
    expect(result.findings.handled + result.findings.dead).toBe(1_000)
  })
})
