import { findNamespaces } from '../../services/namespaces.ts'
import { runAsCommand } from '../campaign/command.ts'
import { runOnNetwork } from './network-run.ts'
import { BROKERS, type BrokerName, spreadFaults } from './plan.ts'
import { reportOf, violationsOf } from './report.ts'

await runAsCommand({
  name: 'chaos:network',
  words: BROKERS,
  numbers: { events: 2_000, consumers: 3, faults: 12, longest: 8, seed: 1 },
  others: { kinds: { type: 'string', default: 'all' } },
  async run({ events, consumers, faults, longest, seed, kinds }, brokers) {
    const found = await findNamespaces()
    if (!found.found) throw new Error(`the campaign needs network namespaces: ${found.why}`)
    const results = []
    for (const broker of brokers as BrokerName[]) {
      const options = {
        broker,
        seed,
        messages: events,
        consumers,
        longestFaultMs: longest * 1_000,
        faults: spreadFaults(faults, String(kinds)),
      }
      results.push(await runOnNetwork(options))
    }
    return { report: reportOf(results), violations: results.flatMap(violationsOf) }
  },
})
