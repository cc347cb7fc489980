import { type BreakerOptions, breakerRule } from '../../core/breaker/options.ts'
import type { FailureRule } from '../../core/failure/failure-rule.ts'
import { failureRules } from '../../core/failure/failure-rule-options.ts'
import { fileOptions } from '../../core/options/file-options.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { flag, milliseconds, optional, text, withDefault } from '../../core/options/rules.ts'
import { type BudgetOptions, budgetRule } from '../../core/retry/budget.ts'
import { type RetryOptions, retryRule } from '../../core/retry/policy.ts'
import { noRetry, RETRY_PRESETS } from '../../core/retry/presets.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../../ports/clock.ts'
import type { Observer } from '../../ports/observer.ts'
import { type Tracing, tracingRule } from '../../ports/tracing.ts'
import type { AttemptPolicy } from '../attempt/after-failure.ts'
import { type DeadlineLane, deadlinesOf } from '../attempt/deadlines.ts'
import { Breaker } from '../breaker.ts'
import {
  RateLimiter,
  type RateLimitOptions,
  RetryBudget,
  RetryLimiter,
  type RetryLimitOptions,
  rateLimitRule,
  retryLimitRule,
} from '../limiters.ts'
import { changeLive, defaultLateMs, liveOr, made, observerRule } from '../option-rules.ts'
import {
  type OptionValues,
  type PreparedReload,
  type ReloadablePart,
  RunningOptions,
  staysGiven,
} from '../reload/policy-source.ts'
import { guardRandom, guardRetry, guardRules } from '../user-functions/guards.ts'
import { UserFaults } from '../user-functions/user-faults.ts'

/** Policies for one function. A policy that is left out does not apply; `{}` applies it with its defaults. */
export interface ResilientOptions extends ClockAndRandomOptions {
  /** Names the function in errors and observations [the function's own name]. */
  readonly name?: string | undefined
  /**
   * How often and when a failed call is attempted again [no retry; `{}`: 4 attempts, from 100 ms up to 5 s apart].
   */
  readonly retry?: RetryOptions | undefined
  /**
   * Stops calls while a dependency fails [none; `{}`: opens after 5 failures in a row, for 60 s]. Give options or a
   * live breaker that others share.
   */
  readonly breaker?: BreakerOptions | Breaker | undefined
  /** Limits the attempts per second, retries included [none]. Give options or a live limiter that others share. */
  readonly rateLimit?: RateLimitOptions | RateLimiter | undefined
  /**
   * Limits the retries per second, so that a dependency that recovers is not overloaded [none; `{}`: 100 per second].
   */
  readonly retryLimit?: RetryLimitOptions | RetryLimiter | undefined
  /**
   * Limits retries to a share of all calls [none; `{}`: a fifth of the calls and 10 per second]. Give options or a
   * live budget that others share.
   */
  readonly budget?: BudgetOptions | RetryBudget | undefined
  /** The time that each attempt has, in ms [no limit]. `retry.maxElapsedMs` limits all attempts together. */
  readonly timeoutMs?: number | undefined
  /**
   * How long a retry waits for an attempt that runs on after its timeout, so that the two do not overlap [the timeout, at least
   * 1 s]. A late success ends the call. After that the retry starts anyway.
   */
  readonly lateMs?: number | undefined
  /** Your own rules for the meaning of errors. Lazaret applies them before the built-in table [none]. */
  readonly classify?: readonly FailureRule[] | undefined
  /** Adds an AttemptContext after the function's own arguments [false]. */
  readonly passContext?: boolean | undefined
  /** Receives attempts, retries, breaker changes and the end of each call [none]. Use it for logs and metrics. */
  readonly observer?: Observer | undefined
  /** Adds attempts and waits to the caller's trace, for example `otelTracing()` of `lazaret/otel` [none]. */
  readonly tracing?: Tracing | undefined
}

const MAX_TIMEOUT_MS = 2 ** 31 - 1

const rules = {
  name: optional(text()),
  retry: optional(retryRule('producer')),
  breaker: optional(liveOr(Breaker, breakerRule('producer'))),
  rateLimit: optional(liveOr(RateLimiter, rateLimitRule)),
  retryLimit: optional(liveOr(RetryLimiter, retryLimitRule)),
  budget: optional(liveOr(RetryBudget, budgetRule)),
  timeoutMs: optional(milliseconds({ min: 1, max: MAX_TIMEOUT_MS })),
  lateMs: optional(milliseconds({ max: MAX_TIMEOUT_MS })),
  classify: withDefault(failureRules, Object.freeze([])),
  passContext: withDefault(flag(), false),
  observer: withDefault<Observer>(observerRule, {}),
  tracing: tracingRule,
  ...clockAndRandomRules,
}

/** The options of a protected call that a config file can set. */
export const callFileOptions = fileOptions(rules, ['name', 'passContext'])

type Settings = Resolved<typeof rules>

export interface ResilientPolicy
  extends AttemptPolicy,
    Omit<Settings, keyof AttemptPolicy | 'lateMs' | 'rateLimit' | 'retryLimit'> {
  readonly rateLimit: RateLimiter | undefined
  readonly retryLimit: RetryLimiter | undefined
  readonly lateMs: number
  readonly lane: DeadlineLane | undefined
  /** Whether a policy needs the time. Otherwise calls do not read the clock, because that is a large part of their cost. */
  readonly readsClock: boolean
  readonly faults: UserFaults
}

function resolveResilient(input: ResilientOptions, functionName: string): ResilientPolicy {
  const given = resolveOptions('resilient', rules, input)
  const { clock, observer, random } = given
  const name = given.name ?? (functionName === '' ? 'call' : functionName)
  const faults = new UserFaults({ name, clock, observer })
  return {
    ...given,
    ...changeable(given, faults),
    name,
    breaker: given.breaker && made(given.breaker, policy => new Breaker(policy, { name, clock, observer })),
    rateLimit:
      given.rateLimit && made(given.rateLimit, policy => new RateLimiter(policy, { name, clock, observer })),
    retryLimit:
      given.retryLimit &&
      made(given.retryLimit, policy => new RetryLimiter(policy, { name, clock, observer })),
    budget: given.budget && made(given.budget, policy => new RetryBudget(policy)),
    // A call is not stored anywhere, so no other process can repeat it and crash too.
    poison: 'off',
    random: guardRandom(random, faults),
    faults,
  }
}

/** The parts of the policy that new options of a file replace. */
function changeable(given: Settings, faults: UserFaults) {
  const { clock, observer, retry = noRetry, timeoutMs } = given
  return {
    timeoutMs,
    retry: guardRetry(retry, RETRY_PRESETS.producer.backoff, faults),
    lateMs: given.lateMs ?? defaultLateMs(timeoutMs ?? 0),
    lane: timeoutMs === undefined ? undefined : deadlinesOf(clock).lane(timeoutMs),
    classify: guardRules(given.classify, faults),
    readsClock: Boolean(
      given.breaker ||
        given.rateLimit ||
        given.budget ||
        timeoutMs !== undefined ||
        observer.callSucceeded ||
        given.tracing,
    ),
  }
}

/** The options whose policies have a state. */
const WITH_STATE: readonly string[] = ['breaker', 'rateLimit', 'retryLimit', 'budget']

/** The policy of a protected function. A call keeps the policy with which it began, and the next one follows new options. */
export class CurrentPolicy implements ReloadablePart {
  readonly #options: RunningOptions<ResilientOptions>
  current: ResilientPolicy

  constructor(input: ResilientOptions, functionName: string) {
    this.current = resolveResilient(input, functionName)
    this.#options = new RunningOptions(input)
    this.#options.attach(this)
  }

  prepareReload(options: OptionValues): PreparedReload {
    const canChange = (name: string, from: unknown, to: unknown) =>
      !WITH_STATE.includes(name) || staysGiven(from, to)
    const { input, changes } = this.#options.next(options, canChange)
    const given = resolveOptions('resilient', rules, input)
    return {
      changes,
      apply: () => {
        const { current } = this
        this.#options.commit(input)
        this.current = { ...current, ...changeable(given, current.faults) }
        changeLive(current.breaker, given.breaker)
        changeLive(current.rateLimit, given.rateLimit)
        changeLive(current.retryLimit, given.retryLimit)
        changeLive(current.budget, given.budget)
      },
    }
  }
}
