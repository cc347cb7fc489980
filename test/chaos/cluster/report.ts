import { countKinds, type Rules, row, ruleRows, violated } from '../campaign/rules.ts'
import type { CampaignResult } from './campaign.ts'
import type { Findings } from './count.ts'
import { type CommonFault, KEYS, SHARES } from './plan.ts'

const RULES: Rules<Findings> = [
  ['lost', 'lost events'],
  ['both', 'events that were handled and are dead letters'],
  ['impossible', 'handled events that can never succeed'],
  ['wronged', 'dead letters of events that can succeed'],
  ['left', 'events left on the cluster'],
]
const ORDER: Rules<Findings> = [['outOfOrder', 'events handled before an earlier one of their key']]

const FAULTS: Readonly<Record<CommonFault, string>> = {
  kill: 'consumer killed (SIGKILL)',
  broker: 'server killed (SIGKILL) and restarted',
  rolling: 'all servers restarted, one after the other',
  rebalance: 'consumer joined and left',
  cut: 'all connections of a consumer cut',
}

/** Order is a promise only where it was asked for. */
function rulesOf({ options }: CampaignResult<string>): Rules<Findings> {
  return options.ordering === 'by-key' ? [...RULES, ...ORDER] : RULES
}

export function violationsOf(result: CampaignResult<string>): string[] {
  return violated(rulesOf(result), result.findings)
}

/** The report as it is printed and kept: Markdown. `texts` names the faults of one kind of server. */
export function reportOf<F extends string = never>(
  result: CampaignResult<F>,
  texts: Readonly<Record<F, string>> = {} as Readonly<Record<F, string>>,
): string[] {
  const { options, nodes, findings, tookMs, skipped, publishedAgain, missing } = result
  const { seed, messages, consumers, faults, ordering } = options
  const count = countKinds(options, SHARES)
  const order = ordering === 'by-key' ? `the order of ${KEYS} keys kept` : 'without order'
  const names = { ...FAULTS, ...texts }
  return [
    `| ${messages} events, ${consumers} consumers, ${nodes} servers, ${order}, seed ${seed} | ${(tookMs / 1_000).toFixed(0)} s |`,
    '| --- | ---: |',
    row('events that fail twice and then succeed', count('transient')),
    row('events that fail with a permanent error', count('permanent')),
    ...Object.entries<number>(faults)
      .filter(([, times]) => times > 0)
      .map(([fault, times]) => row(names[fault as CommonFault | F], times)),
    row('**handled**', findings.handled),
    row('**dead letters**', findings.dead),
    ...ruleRows(rulesOf(result), findings),
    row('deliveries of handled events, refused by the ledger', skipped),
    row('second runs of a handler, refused by the transaction of the effect', findings.ranAgain),
    row('of these, after a first run in a process that was not killed', findings.unexplained),
    row('batches of 100 published again', publishedAgain),
    ...missing,
  ]
}
