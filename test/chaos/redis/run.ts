import { findRedis } from '../../services/redis.ts'
import { progress, runAsCommand, withPrivateServer } from '../campaign/command.ts'
import { runCampaign } from './campaign.ts'
import { reportOf, violationsOf } from './report.ts'

await runAsCommand({
  name: 'chaos:redis',
  numbers: {
    events: 50_000,
    seed: 1,
    consumers: 4,
    kills: 12,
    hangs: 3,
    restarts: 6,
    freezes: 3,
    cuts: 10,
  },
  async run({ seed, events, consumers, kills, hangs, restarts, freezes, cuts }) {
    const faults = { kill: kills, hang: hangs, restart: restarts, freeze: freezes, cut: cuts }
    const options = { seed, messages: events, consumers, faults }
    const result = await withPrivateServer('Redis', await findRedis(), ({ node }) =>
      runCampaign(options, node!, progress),
    )
    return { report: reportOf(result), violations: violationsOf(result) }
  },
})
