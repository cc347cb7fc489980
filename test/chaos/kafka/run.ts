import { findKafka } from '../../services/kafka.ts'
import { progress, runAsCommand, withPrivateServer } from '../campaign/command.ts'
import { runCampaign } from '../cluster/campaign.ts'
import { NODES } from '../cluster/plan.ts'
import { reportOf, violationsOf } from '../cluster/report.ts'
import { kafkaCluster } from './cluster.ts'
import { SESSION_CONFIG } from './settings.ts'

await runAsCommand({
  name: 'chaos:kafka',
  numbers: {
    events: 100_000,
    seed: 1,
    consumers: 6,
    kills: 20,
    brokers: 6,
    rolling: 1,
    rebalances: 10,
    cuts: 10,
  },
  others: { ordering: { type: 'string', default: 'by-key' } },
  async run({ seed, events, consumers, kills, brokers, rolling, rebalances, cuts, ordering }) {
    const faults = { kill: kills, broker: brokers, rolling, rebalance: rebalances, cut: cuts }
    const options = { seed, messages: events, consumers, faults, ordering: ordering as 'none' | 'by-key' }
    const found = await findKafka()
    const cluster = found.found
      ? { ...found, start: () => found.start({ nodes: NODES, config: SESSION_CONFIG }) }
      : found
    const result = await withPrivateServer('Kafka', cluster, service =>
      runCampaign(options, kafkaCluster(service), progress),
    )
    return { report: reportOf(result), violations: violationsOf(result) }
  },
})
