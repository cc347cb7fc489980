import { custom, eitherForm, type Rule } from '../options/rules.ts'
import type { DeadLetter } from './letter.ts'
import type { LetterState } from './state.ts'
import { isTimeToLive, type TimeToLive } from './time-to-live.ts'

const DAY_MS = 86_400_000
/** The default time for which a decided letter is kept. */
export const DEFAULT_RETENTION_MS: number = 7 * DAY_MS

/** How long letters are kept after their last change. */
export interface Retention {
  /** For decided letters: resolved or discarded. */
  readonly retentionMs: TimeToLive
  /**
   * For undecided letters without a time to live of their own: dead, quarantined or parked. Every value except 'never'
   * deletes events that no person has decided on.
   */
  readonly expireUndecidedAfterMs: TimeToLive
}

/** The fields of a letter that decide about its retention. */
type RetainedLetter = Pick<DeadLetter, 'state' | 'updatedAt' | 'expiresAt' | 'expiresAfterMs'>

/** Whether the letter needs no more work. */
function isDecided(state: LetterState): boolean {
  return state === 'resolved' || state === 'discarded'
}

/**
 * The time from which on retention may delete the letter; undefined if it never does. It deletes an undecided letter only if the user asked for that: with the time
 * to live of the letter, or, for letters that have neither a time nor 'never', with `expireUndecidedAfterMs`. It never
 * deletes a replaying letter, because the outcome of the replay changes that letter.
 */
export function retainedUntil(
  { state, updatedAt, expiresAt, expiresAfterMs }: RetainedLetter,
  { retentionMs, expireUndecidedAfterMs }: Retention,
): number | undefined {
  if (state === 'replaying') return undefined
  const hasOwnExpiry = expiresAt !== undefined || expiresAfterMs === 'never'
  if (hasOwnExpiry && !isDecided(state)) return expiresAt
  const keptMs = isDecided(state) ? retentionMs : expireUndecidedAfterMs
  if (keptMs === 'never') return expiresAt
  return Math.min(updatedAt + keptMs, expiresAt ?? Number.POSITIVE_INFINITY)
}

/** Whether retention may delete the letter now. */
export function isPastRetention(letter: RetainedLetter, retention: Retention, now: number): boolean {
  const until = retainedUntil(letter, retention)
  return until !== undefined && until <= now
}

/** The rule for options that set a retention time. */
export const retentionRule: Rule<TimeToLive> = custom(
  isTimeToLive,
  "give milliseconds above 0, or 'never' to keep them without limit",
  eitherForm({ kind: 'choice', values: ['never'] }, { kind: 'duration' }),
)
