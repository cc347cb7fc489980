import { countKinds, type Rules, row, ruleRows, violated } from '../campaign/rules.ts'
import type { CampaignResult } from './campaign.ts'
import type { Findings } from './count.ts'
import { LEASE_MS, LONGER_THAN_A_LEASE_MS, SHARES } from './plan.ts'

const RULES: Rules<Findings> = [
  ['lost', 'lost events'],
  ['both', 'events that were handled and are dead letters'],
  ['impossible', 'handled events that can never succeed'],
  ['wronged', 'dead letters of events that can succeed'],
  ['left', 'events left on the server'],
]

export function violationsOf({ findings }: CampaignResult): string[] {
  return violated(RULES, findings)
}

/** The report as it is printed and kept: Markdown. */
export function reportOf(result: CampaignResult): string[] {
  const { options, findings, tookMs, skipped, publishedAgain } = result
  const { seed, messages, consumers, faults } = options
  const count = countKinds(options, SHARES)
  const stillFor = `for ${seconds(LONGER_THAN_A_LEASE_MS)} while leases last ${seconds(LEASE_MS)}`
  return [
    `| ${messages} events, ${consumers} consumers, seed ${seed} | ${(tookMs / 1_000).toFixed(0)} s |`,
    '| --- | ---: |',
    row('events that fail twice and then succeed', count('transient')),
    row('events that fail with a permanent error', count('permanent')),
    row('consumer killed (SIGKILL)', faults.kill),
    row(`consumer stopped (SIGSTOP) ${stillFor}`, faults.hang),
    row('server killed (SIGKILL) and restarted', faults.restart),
    row(`server stopped (SIGSTOP) ${stillFor}`, faults.freeze),
    row('all connections cut', faults.cut),
    row('**handled**', findings.handled),
    row('**dead letters**', findings.dead),
    ...ruleRows(RULES, findings),
    row('deliveries of handled events, refused by the ledger', skipped),
    row('second runs of a handler, refused by the transaction of the effect', findings.ranAgain),
    row('batches of 100 published again', publishedAgain),
  ]
}

function seconds(ms: number): string {
  return `${ms / 1_000} s`
}
