import type { GateCheck } from '../../ports/replays.ts'
import { describeCheck } from '../../replay/describe-check.ts'
import { safeText } from './safe-text.ts'
import { relative } from './times.ts'

/** One line for each consumer and sink: whose word the gate has, and how old it is. The checks are masked. */
export function checkLines(checks: readonly GateCheck[], now: number): string[] {
  return checks.map(check => `  ${safeText(describeCheck(check, saidAt => relative(saidAt, now)))}\n`)
}
