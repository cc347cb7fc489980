import { findRabbitmq, RABBITMQ_NODES } from '../../services/rabbitmq.ts'
import { progress, runAsCommand, withPrivateServer } from '../campaign/command.ts'
import { runCampaign } from '../cluster/campaign.ts'
import { reportOf, violationsOf } from '../cluster/report.ts'
import { rabbitmqCluster } from './cluster.ts'

await runAsCommand({
  name: 'chaos:rabbitmq-order',
  numbers: {
    events: 20_000,
    seed: 1,
    consumers: 3,
    nodes: 3,
    kills: 10,
    servers: 4,
    rolling: 1,
    joins: 3,
    cuts: 10,
  },
  async run({ seed, events, consumers, nodes, kills, servers, rolling, joins, cuts }) {
    process.env[RABBITMQ_NODES] = String(nodes)
    const faults = { kill: kills, broker: servers, rolling, rebalance: joins, cut: cuts }
    const options = { seed, messages: events, consumers, faults, ordering: 'by-key' } as const
    const result = await withPrivateServer('RabbitMQ', await findRabbitmq(), async service =>
      runCampaign(options, await rabbitmqCluster(service), progress),
    )
    return { report: reportOf(result), violations: violationsOf(result) }
  },
})
