import { findRabbitmq } from '../../services/rabbitmq.ts'
import { runCampaign } from './campaign.ts'
import { progress, runAsCommand, withPrivateServer } from './command.ts'
import { reportOf, violationsOf } from './report.ts'

await runAsCommand({
  name: 'chaos:rabbitmq',
  numbers: { messages: 50_000, seed: 1, kills: 10, cuts: 20, restarts: 3, hangs: 2, freezes: 2 },
  others: { queues: { type: 'string', default: 'quorum' } },
  async run({ seed, messages, kills, cuts, restarts, hangs, freezes, queues }) {
    if (queues !== 'quorum' && queues !== 'classic')
      throw new Error(`'${queues}' is not a queue type: use quorum or classic`)
    const faults = { kill: kills, cut: cuts, restart: restarts, hang: hangs, freeze: freezes }
    const options = { seed, messages, queueType: queues, faults } as const
    const result = await withPrivateServer('RabbitMQ', await findRabbitmq(), ({ node }) =>
      runCampaign(options, node!, progress),
    )
    return { report: reportOf(result), violations: violationsOf(result) }
  },
})
