import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findKafka, type KafkaService } from '../services/kafka.ts'
import { runCampaign } from './cluster/campaign.ts'
import { NODES } from './cluster/plan.ts'
import { reportOf, violationsOf } from './cluster/report.ts'
import { kafkaCluster } from './kafka/cluster.ts'
import { SESSION_CONFIG } from './kafka/settings.ts'

const found = await findKafka()
const isOurs = found.found && found.isPrivate
const why = found.found ? ' (skipped: the cluster is not ours to kill)' : ` (skipped: ${found.why})`

/** A short form of `npm run chaos:kafka`; docs/campaigns.md has the report of the long one. */
describe.runIf(isOurs)(`a campaign of faults against Kafka${isOurs ? '' : why}`, () => {
  let service: KafkaService
  beforeEach(async () => {
    if (found.found) service = await found.start({ nodes: NODES, config: SESSION_CONFIG })
  })
  afterEach(() => service.close())

  it('E21, B9: kills, cuts, a lost broker and a rebalance: every event ends once, in the order of its key', async () => {
    const result = await runCampaign(
      {
        seed: 1,
        messages: 1_000,
        consumers: 2,
        ordering: 'by-key',
        faults: { kill: 1, broker: 1, rolling: 0, rebalance: 1, cut: 1 },
      },
      kafkaCluster(service),
    )
    expect(violationsOf(result), reportOf(result).join('\n')).toEqual([])
    expect(result.findings.handled + result.findings.dead).toBe(1_000)
  })
})
