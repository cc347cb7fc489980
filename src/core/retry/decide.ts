import type { Category } from '../failure/failure.ts'
import type { Random } from '../random.ts'
import type { Backoff } from './backoff.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** Where an event stands after an attempt has failed. */
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
 * Again, and when? A failure that says itself when to come back is believed, up to the cap, whether that is sooner or
 * later than the policy would have come. The attempts of a category count all attempts of the event, not only those
 * that failed with that category.
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

/** A backoff may be the user's own, so what it says is held to its cap; NaN is answered with the cap. */
function delayOf(backoff: Backoff, { attempt, previousDelayMs }: FailedAttempt, random: Random): number {
  const delayMs = backoff.delayMs(attempt, previousDelayMs, random)
  return delayMs <= backoff.maxMs ? Math.max(0, delayMs) : backoff.maxMs
}
