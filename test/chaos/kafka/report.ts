import { countKinds, type Rules, row, ruleRows, violated } from '../campaign/rules.ts'
import type { CampaignResult } from './campaign.ts'
import type { Findings } from './count.ts'
import { KEYS, NODES, SHARES } from './plan.ts'

const RULES: Rules<Findings> = [
  ['lost', 'lost events'],
  ['both', 'events that were handled and are dead letters'],
  ['impossible', 'handled events that can never succeed'],
  ['wronged', 'dead letters of events that can succeed'],
  ['left', 'events left on the cluster'],
]
const ORDER: Rules<Findings> = [['outOfOrder', 'events handled before an earlier one of their key']]

/** Order is a promise only where it was asked for. */
function rulesOf({ options }: CampaignResult): Rules<Findings> {
  return options.ordering === 'by-key' ? [...RULES, ...ORDER] : RULES
}

export function violationsOf(result: CampaignResult): string[] {
  return violated(rulesOf(result), result.findings)
}

/** The report as it is printed and kept: Markdown. */
export function reportOf(result: CampaignResult): string[] {
  const { options, findings, tookMs, skipped, publishedAgain } = result
  const { seed, messages, consumers, faults, ordering } = options
  const count = countKinds(options, SHARES)
  const order = ordering === 'by-key' ? `the order of ${KEYS} keys kept` : 'without order'
  return [
    `| ${messages} events, ${consumers} consumers, ${NODES} brokers, ${order}, seed ${seed} | ${(tookMs / 1_000).toFixed(0)} s |`,
    '| --- | ---: |',
    row('events that fail twice and then succeed', count('transient')),
    row('events that fail with a permanent error', count('permanent')),
    row('consumer killed (SIGKILL)', faults.kill),
    row('broker killed (SIGKILL) and restarted', faults.broker),
    row('all brokers restarted, one after the other', faults.rolling),
    row('consumer joined the group and left it', faults.rebalance),
    row('all connections of a consumer cut', faults.cut),
    row('**handled**', findings.handled),
    row('**dead letters**', findings.dead),
    ...ruleRows(rulesOf(result), findings),
    row('deliveries of handled events, refused by the ledger', skipped),
    row('second runs of a handler, refused by the transaction of the effect', findings.ranAgain),
    row('of these, after a first run in a process that was not killed', findings.unexplained),
    row('batches of 100 published again', publishedAgain),
  ]
}
