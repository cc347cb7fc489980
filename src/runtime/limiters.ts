import { advance, IDLE, notBefore, type Rate, rate, withoutReservations } from '../core/limit/gcra.ts'
import {
  type RateLimitOptions,
  type RateLimitPolicy,
  type RetryLimitOptions,
  type RetryLimitPolicy,
  resolveRateLimit,
  resolveRetryLimit,
} from '../core/limit/options.ts'
import {
  initialRetryLimit,
  limitRetry,
  type RetryLimitDecision,
  type RetryLimitState,
} from '../core/limit/retry-limit.ts'
import type { Random } from '../core/random.ts'
import {
  admitRetry,
  type BudgetOptions,
  type BudgetPolicy,
  type BudgetState,
  initialBudget,
  recordCall,
  resolveBudget,
} from '../core/retry/budget.ts'

// Each class holds the state that core decides on, so that callers who share a limit can share an object.

/** Lets so many a second through and says no to the rest. */
export class RateLimiter {
  readonly #rate: Rate
  #tat = IDLE

  constructor(policy: RateLimitPolicy) {
    this.#rate = rate(policy)
  }

  /** The time from which one more is allowed. `now` or earlier means that it was taken. */
  take(now: number): number {
    const tat = withoutReservations(this.#rate, this.#tat, now)
    const at = notBefore(this.#rate, tat, now)
    if (at <= now) this.#tat = advance(this.#rate, tat, now)
    return at
  }
}

/** Paces retries, so that a dependency that comes back is not knocked over by all who waited for it. */
export class RetryLimiter {
  readonly #policy: RetryLimitPolicy
  #state: RetryLimitState

  constructor(policy: RetryLimitPolicy) {
    this.#policy = policy
    this.#state = initialRetryLimit(policy)
  }

  /** `wait` has reserved its turn: it need not ask again. */
  ask(now: number, random: Random): RetryLimitDecision {
    const decision = limitRetry(this.#policy, this.#state, now, random)
    this.#state = decision.state
    return decision
  }
}

/** Bounds what all retries together add to the traffic. */
export class RetryBudget {
  readonly #policy: BudgetPolicy
  #state: BudgetState

  constructor(policy: BudgetPolicy) {
    this.#policy = policy
    this.#state = initialBudget(policy)
  }

  recordCall(now: number): void {
    this.#state = recordCall(this.#state, now)
  }

  admitRetry(now: number): boolean {
    const { admitted, state } = admitRetry(this.#policy, this.#state, now)
    this.#state = state
    return admitted
  }
}

export function createRateLimiter(options: RateLimitOptions): RateLimiter {
  return new RateLimiter(resolveRateLimit(options))
}

export function createRetryLimiter(options: RetryLimitOptions = {}): RetryLimiter {
  return new RetryLimiter(resolveRetryLimit(options))
}

export function createRetryBudget(options: BudgetOptions = {}): RetryBudget {
  return new RetryBudget(resolveBudget(options))
}
