import { findNats } from '../../services/nats.ts'
import { progress, runAsCommand, withPrivateServer } from '../campaign/command.ts'
import { runCampaign } from '../cluster/campaign.ts'
import { reportOf, violationsOf } from '../cluster/report.ts'
import { natsCluster } from './cluster.ts'
import { clusterOf, NATS_FAULTS } from './settings.ts'

await runAsCommand({
  name: 'chaos:nats',
  numbers: {
    events: 50_000,
    seed: 1,
    consumers: 4,
    kills: 10,
    servers: 6,
    rolling: 1,
    joins: 3,
    cuts: 10,
    leaders: 10,
    'all-at-once': 0,
  },
  others: {
    ordering: { type: 'string', default: 'none' },
    sync: { type: 'string', default: 'default' },
  },
  async run({ seed, events, consumers, ordering, sync, ...times }) {
    const faults = {
      kill: times.kills,
      broker: times.servers,
      rolling: times.rolling,
      rebalance: times.joins,
      cut: times.cuts,
      leader: times.leaders,
      all: times['all-at-once'],
    }
    const options = { seed, messages: events, consumers, faults, ordering: ordering as 'none' | 'by-key' }
    const found = await findNats()
    const cluster = found.found
      ? { ...found, start: () => found.start(clusterOf(sync as 'default' | 'always')) }
      : found
    const result = await withPrivateServer('NATS', cluster, service =>
      runCampaign(options, natsCluster(service), progress),
    )
    return { report: reportOf(result, NATS_FAULTS), violations: violationsOf(result) }
  },
})
