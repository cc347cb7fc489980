import type { CampaignResult } from './campaign.ts'
import type { Findings } from './count.ts'
import { drawKinds } from './draw.ts'
import { type Kind, SHARES } from './plan.ts'

/** What must be zero, and what it means when it is not. */
const RULES: readonly (readonly [keyof Findings, string])[] = [
  ['lost', 'messages lost'],
  ['both', 'messages handled and in the dead-letter queue'],
  ['impossible', 'messages handled that fail always'],
  ['wronged', 'messages in the dead-letter queue that could have been handled'],
  ['ranAgain', 'handlers that ran twice though the ledger knew'],
]

export function violationsOf({ findings }: CampaignResult): string[] {
  return RULES.filter(([name]) => findings[name] > 0).map(([name, text]) => `${findings[name]} ${text}`)
}

/** The report as it is printed and kept: Markdown. */
export function reportOf(result: CampaignResult): string[] {
  const { options, findings, tookMs } = result
  const { seed, messages, queueType, troubles } = options
  const kinds = new Map<Kind, number>()
  for (const kind of drawKinds(options, SHARES)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  const row = (what: string, value: string | number) => `| ${what} | ${value} |`
  return [
    `| ${messages} messages, ${queueType} queues, seed ${seed} | ${(tookMs / 1_000).toFixed(0)} s |`,
    '| --- | ---: |',
    row('that fail twice and then succeed', kinds.get('transient') ?? 0),
    row('that fail for good', kinds.get('permanent') ?? 0),
    row('poison', kinds.get('poison') ?? 0),
    row('consumer killed (SIGKILL)', troubles.kill),
    row('all connections cut', troubles.cut),
    row('server killed (SIGKILL) and restarted', troubles.restart),
    row('consumer stopped (SIGSTOP) for 4 s', troubles.hang),
    row('server stopped (SIGSTOP) for 4 s', troubles.freeze),
    row('**handled**', findings.handled),
    row('**in the dead-letter queue**', findings.dead),
    ...RULES.map(([name, text]) => row(`**${text}**`, findings[name])),
    row('deliveries of handled messages, turned away by the ledger', findings.skipped),
    row(
      'handlers killed between effect and ledger, turned away by the effect’s own transaction',
      findings.ranAfterKill,
    ),
    row('second letters of one message', findings.doubleLetters),
    row('batches of 100 published again', findings.publishedAgain),
  ]
}
