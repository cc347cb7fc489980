import type { BatchState } from '../core/limit/batch.ts'
import {
  advance,
  IDLE,
  moveClock,
  notBefore,
  type Rate,
  rate,
  withoutReservations,
} from '../core/limit/gcra.ts'
import {
  type EventLimitPolicy,
  type EventLimitOptions as OneProcessEventLimitOptions,
  type RateLimitOptions as OneProcessRateLimitOptions,
  type RetryLimitOptions as OneProcessRetryLimitOptions,
  eventLimitRule as oneProcessEventLimitRule,
  rateLimitRule as oneProcessRateLimitRule,
  retryLimitRule as oneProcessRetryLimitRule,
  type RateLimitPolicy,
  type RetryLimitPolicy,
  withDefaultRetryLimit,
} from '../core/limit/options.ts'
import { initialRetryLimit, limitRetry, type RetryLimitState } from '../core/limit/retry-limit.ts'
import { resolveBy } from '../core/options/resolve.ts'
import type { Rule } from '../core/options/rules.ts'
import type { Random } from '../core/random.ts'
import {
  admitRetry,
  type BudgetOptions,
  type BudgetPolicy,
  type BudgetState,
  initialBudget,
  isInNewestCalls,
  recordCall,
  recordNewestCalls,
  resolveBudget,
} from '../core/retry/budget.ts'
import { type Cancel, systemClock } from '../ports/clock.ts'
import type { SharedLimit } from '../ports/shared-limit.ts'
import { observe } from './observe.ts'
import { port } from './option-rules.ts'
import { SetBackDetector } from './set-back-detector.ts'
import { FleetRateLimit, type LimitOwner } from './shared-limit/fleet-link.ts'
import { type FleetTurns, fleetTurns, type PendingTurn, type RetryTurn } from './shared-limit/fleet-turns.ts'
import { safeObserver } from './user-functions/observer-faults.ts'

// Each class holds the state that core decides on, so that callers who share a limit can share an object.

const DEFAULT_OWNER: LimitOwner = Object.freeze({ name: 'limit', clock: systemClock, observer: {} })

/** Admits a limited number of calls per second and refuses the others. */
export class RateLimiter {
  #rate: Rate
  readonly #fleet: FleetRateLimit | undefined
  readonly #setBack: SetBackDetector
  #tat = IDLE

  constructor(policy: Shareable<RateLimitPolicy>, owner: LimitOwner = DEFAULT_OWNER) {
    this.#rate = rate(policy)
    this.#setBack = new SetBackDetector(owner.clock)
    this.#fleet = policy.shared && new FleetRateLimit(policy.shared, 'rate', policy, owner)
  }

  /**
   * The time from which one more is allowed. `now` or earlier means that it was taken. Where the limit is shared, those
   * who keep it may have to be asked first; the promise never rejects.
   */
  take(now: number): number | Promise<number> {
    if (this.#fleet !== undefined) return this.#fleet.enter(now)
    const movedMs = this.#setBack.look(now)
    if (movedMs < 0) this.#tat = moveClock(this.#rate, this.#tat, now - movedMs, now)
    const tat = withoutReservations(this.#rate, this.#tat, now)
    const at = notBefore(this.#rate, tat, now)
    if (at <= now) this.#tat = advance(this.#rate, tat, now)
    return at
  }

  /** Takes over another rate, unless the limit is shared: a file cannot set such a limit. */
  changePolicy(policy: RateLimitPolicy): void {
    this.#rate = rate(policy)
  }

  /** Where the limit is shared: says that one more shares it, until it is closed. */
  join(): void {
    this.#fleet?.join()
  }

  async close(): Promise<void> {
    await this.#fleet?.close()
  }
}

/** Paces retries, so that a dependency that comes back is not knocked over by all who waited for it. */
export class RetryLimiter {
  #policy: RetryLimitPolicy
  readonly #fleet: FleetTurns | undefined
  readonly #owner: LimitOwner
  #state: RetryLimitState
  /** The newest batch, for the observation at its release. */
  #batch: { readonly name: string; count: number } | undefined
  /** Those that are yet to be released. */
  readonly #untold = new Set<Cancel>()

  constructor(policy: Shareable<RetryLimitPolicy>, owner: LimitOwner = DEFAULT_OWNER) {
    this.#policy = policy
    this.#owner = owner
    this.#state = initialRetryLimit(policy)
    this.#fleet = policy.shared && fleetTurns(policy, policy.shared, owner)
  }

  /** The time between two turns of one process, in ms; of a batch, on average. */
  get intervalMs(): number {
    const { pacing } = this.#policy
    return pacing.kind === 'smooth' ? pacing.rate.intervalMs : pacing.batch.everyMs / pacing.batch.size
  }

  /** Every retry over the limit waits for its turn, however long that takes. */
  get alwaysDelays(): boolean {
    const { onLimit, maxWaitMs } = this.#policy
    return onLimit === 'delay' && maxWaitMs === undefined
  }

  /** Takes over another pace for the next turns. Reserved turns stay. A shared limit keeps its pace: a file cannot set one. */
  changePolicy(policy: RetryLimitPolicy): void {
    this.#policy = policy
  }

  /** `wait` has reserved its turn: it need not ask again. `pending` hears later which of the others it is. */
  ask(now: number, random: Random): RetryTurn | PendingTurn {
    if (this.#fleet !== undefined) return this.#fleet.ask(now, random)
    const decision = limitRetry(this.#policy, this.#state, now, random)
    const hasTurn = decision.state !== this.#state
    this.#state = decision.state
    if (hasTurn && decision.state.pacing === 'batch') this.#observeBatch(decision.state.newest, now)
    return decision
  }

  /** No place of a batch is taken after its release, so its count is final then. */
  #observeBatch({ releaseAt, taken }: BatchState, now: number): void {
    const { name, clock, observer, tellsBatches = false } = this.#owner
    if (tellsBatches || !observer.retryBatchReleased) return
    if (taken > 1 && this.#batch !== undefined) {
      this.#batch.count = taken
      return
    }
    const batch = { name, count: taken }
    this.#batch = batch
    const cancel = clock.schedule(Math.max(0, releaseAt - now), () => {
      this.#untold.delete(cancel)
      observe(observer, 'retryBatchReleased', batch)
    })
    this.#untold.add(cancel)
  }

  /** Where the limit is shared: says that one more shares it, until it is closed. */
  join(): void {
    this.#fleet?.join()
  }

  async close(): Promise<void> {
    for (const cancel of this.#untold) cancel()
    this.#untold.clear()
    await this.#fleet?.close()
  }
}

/** Bounds what all retries together add to the traffic. */
export class RetryBudget {
  #policy: BudgetPolicy
  #state: BudgetState
  /**
   * Calls that the state lacks. They are counted together, because a new state for each call would cost a fifth of a call with
   * all policies.
   */
  #newestCalls = 0

  constructor(policy: BudgetPolicy) {
    this.#policy = policy
    this.#state = initialBudget(policy)
  }

  /** Takes over another share. A window of another length starts empty. */
  changePolicy(policy: BudgetPolicy): void {
    if (policy.windowMs !== this.#policy.windowMs) {
      this.#state = initialBudget(policy)
      this.#newestCalls = 0
    }
    this.#policy = policy
  }

  recordCall(now: number): void {
    if (isInNewestCalls(this.#state, now)) this.#newestCalls++
    else this.#state = recordCall(this.#counted(), now)
  }

  admitRetry(now: number): boolean {
    const { admitted, state } = admitRetry(this.#policy, this.#counted(), now)
    this.#state = state
    return admitted
  }

  /** The state with all calls. */
  #counted(): BudgetState {
    if (this.#newestCalls > 0) this.#state = recordNewestCalls(this.#state, this.#newestCalls)
    this.#newestCalls = 0
    return this.#state
  }
}

/** The name, clock and observer of a limiter that a user creates. */
export type LimiterOwner = Partial<Pick<LimitOwner, 'name' | 'clock' | 'observer'>>

/** Makes a rate limiter that several functions can share. */
export function createRateLimiter(options: RateLimitOptions, owner: LimiterOwner = {}): RateLimiter {
  return new RateLimiter(resolveBy('rateLimit', rateLimitRule, options), ownerOf(owner))
}

/** Makes a retry limiter that several consumers or functions can share. */
export function createRetryLimiter(options: RetryLimitOptions = {}, owner: LimiterOwner = {}): RetryLimiter {
  return new RetryLimiter(resolveRetryLimit(options), ownerOf(owner))
}

function ownerOf(given: LimiterOwner): LimitOwner {
  return { ...DEFAULT_OWNER, ...given, observer: safeObserver(given.observer ?? {}) }
}

/** Makes a retry budget that several consumers, dispatchers or functions can share. */
export function createRetryBudget(options: BudgetOptions = {}): RetryBudget {
  return new RetryBudget(resolveBudget(options))
}

/** The limit may be one for many processes. */
interface SharedLimitOption {
  /** Keeps the limit for all processes that share it, such as `redisLimit(…)` [each process has its own limit]. */
  readonly shared?: SharedLimit | undefined
}

/** A limit on starts per second, for one process or for all that share it. */
export interface RateLimitOptions extends OneProcessRateLimitOptions, SharedLimitOption {}
/** A limit on new events per second, for one process or for all that share it. */
export interface EventLimitOptions extends OneProcessEventLimitOptions, SharedLimitOption {}
/** A limit on retries per second, for one process or for all that share it. */
export interface RetryLimitOptions extends OneProcessRetryLimitOptions, SharedLimitOption {}

export type Shareable<P> = P & SharedLimitOption

const sharedRule = port<SharedLimit>('a shared limit', 'reserve', 'leave', 'close')

/** Reads `shared` beside the options of a limit. */
function shareable<P extends object>(rule: Rule<P>): Rule<Shareable<P>> {
  return {
    form: rule.form,
    read(value, path, faults) {
      if (typeof value !== 'object' || value === null || !('shared' in value) || value.shared === undefined)
        return Object.freeze({ ...rule.read(value, path, faults), shared: undefined })
      const { shared, ...options } = value
      const keeper = sharedRule.read(shared, `${path}.shared`, faults)
      if ('batch' in options && options.batch !== undefined)
        faults.add(
          `${path}.batch`,
          options.batch,
          'leave it out beside shared: a fleet keeps an even pace, give perSecond',
        )
      return Object.freeze({ ...rule.read(options, path, faults), shared: keeper })
    },
  }
}

export const rateLimitRule: Rule<Shareable<RateLimitPolicy>> = shareable(oneProcessRateLimitRule)
export const eventLimitRule: Rule<Shareable<EventLimitPolicy>> = shareable(oneProcessEventLimitRule)
export const retryLimitRule: Rule<Shareable<RetryLimitPolicy>> = shareable(oneProcessRetryLimitRule)
/** For consumers and dispatchers, which have a retry limit unless they say `'off'`. */
export const defaultRetryLimitRule = withDefaultRetryLimit(retryLimitRule)

export function resolveRetryLimit(input: RetryLimitOptions | undefined): Shareable<RetryLimitPolicy> {
  return resolveBy('retryLimit', retryLimitRule, input)
}
