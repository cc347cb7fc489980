import type { Failure } from '../failure/failure.ts'
import type { PoisonPolicy } from '../poison/options.ts'
import { blamesEvent, type CycleHistory, judgePoison } from '../poison/poison.ts'
import type { Random } from '../random.ts'
import { decideRetry } from '../retry/decide.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'

/** The policies that decide what follows a failed attempt. */
interface DecidingPolicies {
  readonly retry: RetryPolicy
  readonly poison: PoisonPolicy
}

/** The history of the event or call, with the attempt that has just failed. */
export interface AttemptHistory {
  /** The number of the attempt that has just failed; 1 is the first. */
  readonly attempt: number
  /** Since the first attempt started. */
  readonly elapsedMs: number
  /** The wait before that attempt; 0 before the first. */
  readonly previousDelayMs: number
  /** What the poison policy looks at, if it has to; undefined where nothing outlives the process. */
  readonly cycle?: (() => CycleHistory) | undefined
}

export type AttemptDecision =
  | {
      readonly do: 'retry'
      readonly at: number
      readonly delayMs: number
      readonly delayFrom: 'policy' | 'retry-after'
    }
  | {
      readonly do: 'give-up'
      readonly because: 'permanent' | 'attempts_exhausted' | 'elapsed' | 'poison'
    }

const POISON: AttemptDecision = Object.freeze({ do: 'give-up', because: 'poison' })

/**
 * Decides what follows a failed attempt of an event, a call or a write. Consumers, `resilient()` and lanes all use this
 * function, so that one rule holds everywhere.
 *
 * `permanent` is the most specific reason, then `poison`, then exhausted attempts. The letter gets the most specific one.
 * Poison ends the retries of a failure only if the failure blames the event. All other failures get their retries first.
 */
export function decideAttempt(
  { retry, poison }: DecidingPolicies,
  history: AttemptHistory,
  failure: Pick<Failure, 'retryable' | 'category' | 'retryAfterMs'>,
  now: number,
  random: Random,
): AttemptDecision {
  const { attempt, previousDelayMs, elapsedMs, cycle } = history
  const failed = { failure, attempt, previousDelayMs, elapsedMs }
  const decision = decideRetry(retry, failed, random)
  const hasRetriesLeft = decision.action === 'retry'
  const mayBePoison = hasRetriesLeft ? blamesEvent(failure.category) : decision.reason !== 'permanent'
  if (mayBePoison && cycle !== undefined && judgePoison(cycle(), poison, now, hasRetriesLeft).poisoned)
    return POISON
  if (decision.action === 'give-up') return { do: 'give-up', because: decision.reason }
  const { delayMs, delayFrom } = decision
  return { do: 'retry', at: now + delayMs, delayMs, delayFrom }
}
