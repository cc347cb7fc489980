import { countKinds, type Rules, row, ruleRows, violated } from '../campaign/rules.ts'
import type { CampaignResult } from './campaign.ts'
import { ATTEMPTS, GRACE_MS, LATE_MS, SHARES, TAKES_MS, TIMEOUT_MS } from './plan.ts'

const RULES: Rules<CampaignResult['findings']> = [
  ['lost', 'events lost'],
  ['both', 'events handled and dead'],
  ['impossible', 'events handled that fail always'],
  ['wronged', 'events dead that could have been handled'],
  ['left', 'events left in the channel'],
  ['doubleLetters', 'second letters of one event'],
  ['effectsAgain', 'second effects though the first run ended within the grace time'],
  ['overlaps', 'runs of one event at the same time'],
  ['miscounted', `events dead after more or fewer than ${ATTEMPTS} attempts`],
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
    row(`that take ${TAKES_MS.slow} ms and obey their signal`, count('slow')),
    row(`that take ${TAKES_MS.deaf} ms and ignore it`, count('deaf')),
    row(`that take ${TAKES_MS.late} ms and ignore their timeout of ${TIMEOUT_MS} ms`, count('late')),
    row(
      `that take ${TAKES_MS.overdue} ms, longer than they keep their place (${TIMEOUT_MS + LATE_MS} ms)`,
      count('overdue'),
    ),
    row('that fail twice and then succeed', count('transient')),
    row('that fail with a permanent error', count('permanent')),
    row('that fail at each attempt', count('hopeless')),
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
