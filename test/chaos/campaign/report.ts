import type { CampaignResult } from './campaign.ts'
import type { Findings } from './count.ts'
import { SHARES } from './plan.ts'
import { countKinds, type Rules, row, ruleRows, violated } from './rules.ts'

const RULES: Rules<Findings> = [
  ['lost', 'lost messages'],
  ['both', 'messages that were handled and are in the dead-letter queue'],
  ['impossible', 'handled messages that can never succeed'],
  ['wronged', 'messages in the dead-letter queue that can succeed'],
  ['ranAgain', 'handler runs of events that the ledger had as done'],
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
    row('messages that fail twice and then succeed', count('transient')),
    row('messages that fail with a permanent error', count('permanent')),
    row('poison messages', count('poison')),
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
      'second runs after a kill between effect and ledger, refused by the transaction of the effect',
      findings.ranAfterKill,
    ),
    row('duplicate letters', findings.doubleLetters),
    row('batches of 100 published again', findings.publishedAgain),
  ]
}
