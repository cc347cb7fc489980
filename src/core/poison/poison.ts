import type { Category } from '../failure/failure.ts'
import type { PoisonPolicy } from './options.ts'

/** The fields of a failed attempt that the poison decision uses. */
export interface FailedAttempt {
  readonly at: number
  readonly fingerprint: string
  readonly category: Category
}

/** Durable counts of attempts begun and attempts that came to any end, failed ones included. */
interface AttemptCounts {
  readonly started: number
  readonly ended: number
}

/**
 * The history that a delivery carries of its current cycle. No other history is kept. So a replay resets the poison
 * decision: it begins a new cycle, whose delivery carries no attempts and no counts of the cycle before.
 */
export interface CycleHistory extends AttemptCounts {
  readonly attempts: readonly FailedAttempt[]
}

export type PoisonVerdict =
  | { readonly poisoned: false }
  | { readonly poisoned: true; readonly by: 'repeats'; readonly fingerprint: string; readonly count: number }
  | { readonly poisoned: true; readonly by: 'crashes'; readonly count: number }

const HARMLESS: PoisonVerdict = Object.freeze({ poisoned: false })

/**
 * Decides before each attempt, when its start is not counted yet, and after each failure. `hasRetriesLeft` protects the
 * retries of a failure that nothing recognised: see `counted`.
 */
export function judgePoison(
  history: CycleHistory,
  policy: PoisonPolicy,
  now: number,
  hasRetriesLeft: boolean,
): PoisonVerdict {
  if (isCrashLoop(history, policy)) {
    return { poisoned: true, by: 'crashes', count: history.started - history.ended }
  }
  const repeated = mostRepeated(history.attempts, policy, now, hasRetriesLeft)
  return repeated === undefined ? HARMLESS : { poisoned: true, by: 'repeats', ...repeated }
}

/** The event itself is named as the cause, so a repeated failure ends its retries. */
export function blamesEvent(category: Category): boolean {
  return category === 'schema' || category === 'business'
}

/** Attempts that started and never ended are crashes of the process. */
export function isCrashLoop(counts: AttemptCounts, policy: PoisonPolicy): boolean {
  return policy !== 'off' && counts.started - counts.ended >= policy.crashes
}

interface Repeated {
  readonly fingerprint: string
  readonly count: number
}

/** The fingerprint that reached `repeats`; of several the most frequent, then the first in code-unit order. */
function mostRepeated(
  attempts: readonly FailedAttempt[],
  policy: PoisonPolicy,
  now: number,
  hasRetriesLeft: boolean,
): Repeated | undefined {
  if (policy === 'off' || attempts.length < policy.repeats) return undefined
  const counts = new Map<string, number>()
  for (const attempt of attempts) {
    if (!counted(attempt, hasRetriesLeft) || !isWithin(policy.windowMs, attempt.at, now)) continue
    counts.set(attempt.fingerprint, (counts.get(attempt.fingerprint) ?? 0) + 1)
  }
  let found: Repeated | undefined
  for (const [fingerprint, count] of counts) {
    if (count < policy.repeats) continue
    const leads =
      found === undefined || count > found.count || (count === found.count && fingerprint < found.fingerprint)
    if (leads) found = { fingerprint, count }
  }
  return found
}

/**
 * Failures of a dependency never count. A minute of database outage fails every event with one fingerprint, several
 * times over; were that poison, the outage would quarantine the whole channel. Retry and breaker answer it.
 *
 * A failure that nothing recognised may be the fault of the event or of a dependency. So it gets all its retries, and
 * counts when none is left.
 */
function counted({ category }: FailedAttempt, hasRetriesLeft: boolean): boolean {
  return blamesEvent(category) || (category === 'unknown' && !hasRetriesLeft)
}

/** An attempt may lie in the future when another machine's clock runs ahead; it counts, but no further than the window. */
function isWithin(windowMs: number, at: number, now: number): boolean {
  return Math.abs(now - at) <= windowMs
}
