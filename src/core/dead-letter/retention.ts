import { custom, type Rule } from '../options/rules.ts'
import type { DeadLetter } from './letter.ts'
import type { LetterState } from './state.ts'

const DAY_MS = 86_400_000
/** The default time for which a decided letter is kept. */
export const DEFAULT_RETENTION_MS: number = 7 * DAY_MS

/** How long letters are kept after their last change. */
export interface Retention {
  /** Of decided letters: resolved or discarded. */
  readonly retentionMs: number | 'never'
  /** Of undecided letters: dead, quarantined or parked. Every value but 'never' deletes events that no person has decided on. */
  readonly expireUndecidedAfterMs: number | 'never'
}

/** What retention looks at. */
type RetainedLetter = Pick<DeadLetter, 'state' | 'updatedAt' | 'expiresAt'>

/** Whether nothing is left to do about it. */
function isDecided(state: LetterState): boolean {
  return state === 'resolved' || state === 'discarded'
}

/**
 * Whether retention may delete the letter. An undecided one goes only where the user asked for that: with a time to live
 * of its own, or with `expireUndecidedAfterMs`. A replaying one never goes: its outcome has to find it.
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

/** How an option is read that says how long letters are kept. */
export const retentionRule: Rule<number | 'never'> = custom(
  isRetentionTime,
  "give milliseconds above 0, or 'never' to keep them without limit",
)

function isRetentionTime(value: unknown): value is number | 'never' {
  return value === 'never' || (typeof value === 'number' && Number.isFinite(value) && value > 0)
}
