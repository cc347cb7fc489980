import { findRabbitmq } from '../../services/rabbitmq.ts'
import { progress, runAsCommand, withPrivateServer } from '../campaign/command.ts'
import { runCampaign } from './campaign.ts'
import { reportOf, violationsOf } from './report.ts'

await runAsCommand({
  name: 'chaos:sigterm',
  numbers: {
    events: 10_000,
    seed: 1,
    consumers: 4,
    sigterms: 40,
    'double-sigterms': 20,
    'starting-sigterms': 20,
    'fleet-sigterms': 10,
  },
  others: { broker: { type: 'string', default: 'rabbitmq' } },
  async run({ seed, events, consumers, sigterms, broker, ...signals }) {
    if (broker !== 'rabbitmq' && broker !== 'sqlite')
      throw new Error(`'${broker}' is not a broker of this campaign: use rabbitmq or sqlite`)
    const faults = {
      one: sigterms,
      two: signals['double-sigterms'],
      starting: signals['starting-sigterms'],
      all: signals['fleet-sigterms'],
    }
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
