import type { Masks } from '../../core/dead-letter/masks.ts'
import type { GateCheck } from '../../ports/replays.ts'
import { describeCheck } from '../../replay/describe-check.ts'
import { safeText } from './safe-text.ts'
import { relative } from './times.ts'

/** One line for each consumer and sink: whose word the gate has, and how old it is. */
export function checkLines(checks: readonly GateCheck[], masks: Masks, now: number): string[] {
  const options = {
    ageOf: (saidAt: number) => relative(saidAt, now),
    maskText: (text: string) => masks.maskText(text),
  }
  return checks.map(check => `  ${safeText(describeCheck(check, options))}\n`)
}
