import type { CampaignResult } from './campaign.ts'
import type { Findings } from './count.ts'
import { SHARES } from './plan.ts'
import { countKinds, type Rules, row, ruleRows, violated } from './rules.ts'

const RULES: Rules<Findings> = [
  ['lost', 'messages lost'],
  ['both', 'messages handled and in the dead-letter queue'],
  ['impossible', 'messages handled that fail always'],
  ['wronged', 'messages in the dead-letter queue that could have been handled'],
  ['ranAgain', 'handlers that ran twice though the ledger knew'],
]

export function violationsOf({ findings }: CampaignResult): string[] {
  return violated(RULES, findings)
}

/** The report as it is printed and kept: Markdown. */
export function reportOf(result: CampaignResult): string[] {
  const { options, findings, tookMs } = result
  const { seed, messages, queueType, faults } = options
  const count = countKinds(options, SHARES)
  return [
    `| ${messages} messages, ${queueType} queues, seed ${seed} | ${(tookMs / 1_000).toFixed(0)} s |`,
    '| --- | ---: |',
    row('that fail twice and then succeed', count('transient')),
    row('that fail for good', count('permanent')),
    row('poison', count('poison')),
    row('consumer killed (SIGKILL)', faults.kill),
    row('all connections cut', faults.cut),
    row('server killed (SIGKILL) and restarted', faults.restart),
    row('consumer stopped (SIGSTOP) for 4 s', faults.hang),
    row('server stopped (SIGSTOP) for 4 s', faults.freeze),
    row('**handled**', findings.handled),
    row('**in the dead-letter queue**', findings.dead),
    ...ruleRows(RULES, findings),
    row('deliveries of handled messages, refused by the ledger', findings.skipped),
    row(
      'handlers killed between effect and ledger, refused by the effect’s own transaction',
      findings.ranAfterKill,
    ),
    row('second letters of one message', findings.doubleLetters),
    row('batches of 100 published again', findings.publishedAgain),
  ]
}
