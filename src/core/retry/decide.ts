import type { Category } from '../failure/failure.ts'
import type { Random } from '../random.ts'
import type { Backoff } from './backoff.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** The history of an event after a failed attempt. */
export interface FailedAttempt {
  readonly failure: {
    readonly retryable: boolean
    readonly category: Category
    readonly retryAfterMs: number | undefined
  }
  /** The number of the attempt that just failed; 1 is the first. */
  readonly attempt: number
  /** Since the first attempt started. */
  readonly elapsedMs: number
  /** The wait before the attempt that just failed; 0 before the first. */
  readonly previousDelayMs: number
}

type RetryDecision =
  | { readonly action: 'retry'; readonly delayMs: number; readonly delayFrom: 'policy' | 'retry-after' }
  | { readonly action: 'give-up'; readonly reason: 'permanent' | 'attempts_exhausted' | 'elapsed' }

const PERMANENT: RetryDecision = Object.freeze({ action: 'give-up', reason: 'permanent' })
const EXHAUSTED: RetryDecision = Object.freeze({ action: 'give-up', reason: 'attempts_exhausted' })
const ELAPSED: RetryDecision = Object.freeze({ action: 'give-up', reason: 'elapsed' })

/**
 * Decides whether to retry, and when. A delay that the failure itself names (Retry-After) replaces that of the policy, up
 * to the cap, because the dependency knows best when it recovers. `attempts` of a category counts all attempts of the
 * event, not only those that failed with that category.
 */
export function decideRetry(policy: RetryPolicy, failed: FailedAttempt, random: Random): RetryDecision {
  const { failure, attempt } = failed
  if (!failure.retryable) return PERMANENT
  const { attempts, backoff } = policy.byCategory[failure.category] ?? policy
  if (attempt >= attempts) return EXHAUSTED

  const asked = failure.retryAfterMs
  const isAsked = asked !== undefined && asked >= 0
  const delayMs = isAsked
    ? Math.min(Math.ceil(asked), policy.retryAfterMaxMs)
    : delayOf(backoff, failed, random)
  if (policy.maxElapsedMs !== undefined && failed.elapsedMs + delayMs > policy.maxElapsedMs) return ELAPSED
  return { action: 'retry', delayMs, delayFrom: isAsked ? 'retry-after' : 'policy' }
}

/** A backoff may be a user function, so its result is limited to `maxMs`; NaN becomes `maxMs`. */
function delayOf(backoff: Backoff, { attempt, previousDelayMs }: FailedAttempt, random: Random): number {
  const delayMs = backoff.delayMs(attempt, previousDelayMs, random)
  return delayMs <= backoff.maxMs ? Math.max(0, delayMs) : backoff.maxMs
}
