import { type Rules, violated } from '../campaign/rules.ts'
import type { Findings } from './count.ts'

export const RULES: Rules<Findings> = [
  ['lost', 'lost events'],
  ['open', 'letters that are not resolved at the end'],
  ['executedTwice', 'commands executed twice'],
  ['unfinished', 'replays that are not finished at the end'],
  ['sentTwice', 'letters sent twice outside a crash or a stall between sending and record'],
  ['unaudited', 'commands and replays without an audit entry that names the person'],
]

export function violationsOf({ findings }: { readonly findings: Findings }): string[] {
  return violated(RULES, findings)
}
