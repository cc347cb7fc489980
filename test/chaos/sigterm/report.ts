import { countKinds, type Rules, row, ruleRows, violated } from '../campaign/rules.ts'
import type { CampaignResult } from './campaign.ts'
import { ATTEMPTS, GRACE_MS, LATE_MS, SHARES, TAKES_MS, TIMEOUT_MS } from './plan.ts'

const RULES: Rules<CampaignResult['findings']> = [
  ['lost', 'lost events'],
  ['both', 'events that were handled and are dead letters'],
  ['impossible', 'handled events that can never succeed'],
  ['wronged', 'dead letters of events that can succeed'],
  ['left', 'events left in the channel'],
  ['doubleLetters', 'duplicate letters'],
  ['effectsAgain', 'second effects of runs that ended within the grace time'],
  ['overlaps', 'concurrent runs of one event'],
  ['miscounted', `dead letters with more or fewer than ${ATTEMPTS} attempts`],
  ['failedEnds', 'processes that ended with an error'],
]

export function violationsOf({ findings }: CampaignResult): string[] {
  return violated(RULES, findings)
}

/** The report as it is printed and kept: Markdown. */
export function reportOf({ options, findings, tookMs, released, skipped }: CampaignResult): string[] {
  const { seed, messages, broker, consumers, faults } = options
  const count = countKinds(options, SHARES)
  const name = broker === 'rabbitmq' ? 'RabbitMQ' : 'SQLite'
  return [
    `| ${name}: ${messages} events, ${consumers} consumers, seed ${seed} | ${(tookMs / 1_000).toFixed(0)} s |`,
    '| --- | ---: |',
    row(`events whose handler takes ${TAKES_MS.slow} ms and obeys its signal`, count('slow')),
    row(`events whose handler takes ${TAKES_MS.ignoring} ms and ignores its signal`, count('ignoring')),
    row(
      `events whose handler takes ${TAKES_MS.late} ms and ignores its timeout of ${TIMEOUT_MS} ms`,
      count('late'),
    ),
    row(
      `events whose handler takes ${TAKES_MS.overdue} ms, longer than the consumer waits for it (${TIMEOUT_MS + LATE_MS} ms)`,
      count('overdue'),
    ),
    row('events that fail twice and then succeed', count('transient')),
    row('events that fail with a permanent error', count('permanent')),
    row('events that fail at each attempt', count('failing')),
    row('one consumer ended (SIGTERM)', faults.one),
    row('the same, with a second SIGTERM while it closed', faults.two),
    row('the same, and its successor ended while it started', faults.starting),
    row('all consumers ended at once (SIGTERM)', faults.all),
    row('**handled**', findings.handled),
    row('**dead letters**', findings.dead),
    ...ruleRows(RULES, findings),
    row('deliveries that a closing consumer returned', released),
    row(`runs that outlived the grace time of ${GRACE_MS} ms`, findings.outlived),
    row('second effects of these', findings.effectsAfterGrace),
    row('deliveries of handled events, refused by the ledger', skipped),
  ]
}
