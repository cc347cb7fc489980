import { NO_COUNTS, type Outcomes, type Stage } from '../ports/replays.ts'

export const DEFAULT_STAGES: readonly Stage[] = Object.freeze([1, 10, 100, 'rest'])
export const DEFAULT_REFAIL_RATIO = 0.2

/** The number of letters that are sent at the end of each stage: [1, 10, 100, rest] of 500 is [1, 11, 111, 500]. */
export function stageEnds(stages: readonly Stage[], count: number): readonly number[] {
  const ends: number[] = []
  let sent = 0
  for (const stage of stages) {
    if (sent >= count) break
    sent = stage === 'rest' ? count : Math.min(count, sent + stage)
    ends.push(sent)
  }
  // A last stage takes the letters that the given stages leave.
  if (sent < count) ends.push(count)
  return ends
}

interface HaltRules {
  readonly refailRatio: number
  readonly onSameFingerprint: boolean
}

/**
 * Returns the reason to halt, for people; undefined to continue. One letter that fails again with the same cause is enough
 * while none has recovered, because the cause is not fixed. After the first recovery the ratio decides. Outcomes from
 * before the last resume (`forgiven`) do not count, because a person has seen them.
 */
export function haltReason(
  rules: HaltRules,
  all: Outcomes,
  forgiven: Outcomes = NO_COUNTS,
): string | undefined {
  const counts = {
    recovered: all.recovered - forgiven.recovered,
    failed_same_cause: all.failed_same_cause - forgiven.failed_same_cause,
    failed_new_cause: all.failed_new_cause - forgiven.failed_new_cause,
  }
  const again = counts.failed_same_cause + counts.failed_new_cause
  const ended = again + counts.recovered
  if (again === 0) return undefined
  if (rules.onSameFingerprint && counts.failed_same_cause > 0 && counts.recovered === 0)
    return `${counts.failed_same_cause} of ${ended} failed again with the same cause: the cause is not fixed`
  const ratio = again / ended
  if (ratio <= rules.refailRatio) return undefined
  return `${again} of ${ended} failed again; the limit is ${Math.round(rules.refailRatio * 100)} %`
}
