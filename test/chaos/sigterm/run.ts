import { findRabbitmq } from '../../services/rabbitmq.ts'
import { progress, runAsCommand, withPrivateServer } from '../campaign/command.ts'
import { runCampaign } from './campaign.ts'
import { reportOf, violationsOf } from './report.ts'

await runAsCommand({
  name: 'chaos:sigterm',
  numbers: { events: 10_000, seed: 1, consumers: 4, ones: 40, twos: 20, starts: 20, alls: 10 },
  others: { broker: { type: 'string', default: 'rabbitmq' } },
  async run({ seed, events, consumers, ones, twos, starts, alls, broker }) {
    if (broker !== 'rabbitmq' && broker !== 'sqlite')
      throw new Error(`'${broker}' is not a broker of this campaign: use rabbitmq or sqlite`)
    const faults = { one: ones, two: twos, starting: starts, all: alls }
    const options = { seed, messages: events, broker, consumers, faults } as const
    const result =
      broker === 'sqlite'
        ? await runCampaign(options, undefined, progress)
        : await withPrivateServer('RabbitMQ', await findRabbitmq(), ({ url }) =>
            runCampaign(options, url, progress),
          )
    return { report: reportOf(result), violations: violationsOf(result) }
  },
})
