import { countKinds, type Rules, row, ruleRows, violated } from '../campaign/rules.ts'
import type { CampaignResult } from './campaign.ts'
import type { Findings } from './count.ts'
import { LEASE_MS, LONGER_THAN_A_LEASE_MS, SHARES } from './plan.ts'

const RULES: Rules<Findings> = [
  ['lost', 'events neither delivered nor failed'],
  ['withoutEffect', 'delivered events that the receiver never got'],
  ['twice', 'effects that happened twice'],
  ['wronged', 'failed events that can succeed'],
  ['impossible', 'effects of events that failed'],
  ['outOfOrder', 'effects out of the order of their key'],
  ['phantoms', 'events of transactions that were rolled back'],
  ['withoutLetter', 'failed events without a letter'],
]

export function violationsOf({ findings }: CampaignResult): string[] {
  return violated(RULES, findings)
}

/** The report as it is printed and kept: Markdown. */
export function reportOf(result: CampaignResult): string[] {
  const { options, findings, tookMs, turnedAway, enqueuedAgain, foundCommitted } = result
  const { seed, messages, relays, faults } = options
  const count = countKinds(options, SHARES)
  return [
    `| ${messages} events, ${relays} relays, seed ${seed} | ${(tookMs / 1_000).toFixed(0)} s |`,
    '| --- | ---: |',
    row('events that fail twice and then succeed', count('transient')),
    row('events that fail with a permanent error', count('permanent')),
    row('events that fail until a replay', count('recoverable')),
    row('relay killed (SIGKILL)', faults.kill),
    row('Postgres stopped in immediate mode and restarted', faults.restart),
    row(
      `the same, for ${seconds(LONGER_THAN_A_LEASE_MS)} while leases last ${seconds(LEASE_MS)}`,
      faults.outage,
    ),
    row(`relay stopped (SIGSTOP) for ${seconds(LONGER_THAN_A_LEASE_MS)}`, faults.freeze),
    row('all connections cut', faults.cut),
    row('**delivered**', findings.delivered),
    row('**failed**', findings.failed),
    ...ruleRows(RULES, findings),
    row('ended cycles in the history of replayed events', findings.replayed),
    row('repeated events, refused by the ledger', turnedAway),
    row('transactions of 100 events that a crash of the server ended', enqueuedAgain - foundCommitted),
    row('transactions that were committed without an answer', foundCommitted),
  ]
}

function seconds(ms: number): string {
  return `${ms / 1_000} s`
}
