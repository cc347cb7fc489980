import { custom, type Rule } from '../options/rules.ts'
import type { DeadLetter } from './letter.ts'
import type { LetterState } from './state.ts'

const DAY_MS = 86_400_000
/** The default time for which a decided letter is kept. */
export const DEFAULT_RETENTION_MS: number = 7 * DAY_MS

/** How long letters are kept after their last change. */
export interface Retention {
  /** For decided letters: resolved or discarded. */
  readonly retentionMs: number | 'never'
  /**
   * For undecided letters: dead, quarantined or parked. Every value except 'never' deletes events that no person has
   * decided on.
   */
  readonly expireUndecidedAfterMs: number | 'never'
}

/** The fields of a letter that decide about its retention. */
type RetainedLetter = Pick<DeadLetter, 'state' | 'updatedAt' | 'expiresAt'>

/** Whether the letter needs no more work. */
function isDecided(state: LetterState): boolean {
  return state === 'resolved' || state === 'discarded'
}

/**
 * Whether retention may delete the letter. It deletes an undecided letter only if the user asked for that, with
 * `expiresAt` or `expireUndecidedAfterMs`. It never deletes a replaying letter, because the outcome of the replay changes
 * that letter.
 */
export function isPastRetention(
  { state, updatedAt, expiresAt }: RetainedLetter,
  { retentionMs, expireUndecidedAfterMs }: Retention,
  now: number,
): boolean {
  if (state === 'replaying') return false
  if (expiresAt !== undefined && expiresAt <= now) return true
  const keptMs = isDecided(state) ? retentionMs : expireUndecidedAfterMs
  return keptMs !== 'never' && updatedAt + keptMs <= now
}

/** The rule for options that set a retention time. */
export const retentionRule: Rule<number | 'never'> = custom(
  isRetentionTime,
  "give milliseconds above 0, or 'never' to keep them without limit",
)

function isRetentionTime(value: unknown): value is number | 'never' {
  return value === 'never' || (typeof value === 'number' && Number.isFinite(value) && value > 0)
}
