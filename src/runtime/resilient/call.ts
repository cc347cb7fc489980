import type { Failure } from '../../core/failure/failure.ts'
import { RateLimitedError } from '../../core/limit/errors.ts'
import { isPromiseLike, promiseOf } from '../../core/promise-like.ts'
import { monotonicNow } from '../../ports/clock.ts'
import type { GiveUpReason } from '../../ports/observer.ts'
import {
  type AttemptTrace,
  discardSpan,
  endSpan,
  ignoreErrors,
  runInSpan,
  type TraceSpan,
  type Tracing,
} from '../../ports/tracing.ts'
import {
  attemptFailed,
  decideNext,
  observeGivingUp,
  observeRetryAllowed,
  observeRetryLimited,
} from '../attempt/after-failure.ts'
import { AttemptContext, TimeoutError } from '../attempt/attempt.ts'
import type { Deadline } from '../attempt/deadlines.ts'
import { observe } from '../observe.ts'
import type { LimitedTurn, PendingTurn, RetryTurn } from '../shared-limit/fleet-turns.ts'
import { sleep } from '../sleep.ts'
import type { ResilientPolicy } from './resilient-options.ts'

/** The latest failure of a call; undefined while no attempt has failed. */
interface LatestFailure {
  readonly thrown: unknown
  readonly failure: Failure
  readonly endedAt: number
  /** The wait after this failure. */
  readonly delayMs: number
}

/** The call has ended: no retry follows. */
const OVER = -1

/**
 * One call of a protected function. The core makes the decisions, and this class carries them out:
 *
 *   attempt ──▶ the function ──▶ won ──▶ resolve
 *      ▲             │
 *      └── recover ◀─┴─ lost: it threw, or its timeout is over
 *             └──▶ reject
 *
 * The object is also the deadline and the abort listener of the call, and a call that succeeds runs no async function. An
 * object and a promise for each step would cost more than all policies together.
 */
export class Call<A extends unknown[], R> implements Deadline {
  dueAt = 0
  previous: Deadline | undefined = undefined
  next: Deadline | undefined = undefined
  private attempt = 0
  /** The number of the attempt that the call waits for. Results of other attempts are late and ignored. */
  private awaited = 0
  /**
   * The number of the attempt that still runs after its timeout, while a retry waits for its end. OVER if a late attempt
   * has succeeded.
   */
  private late = 0
  private whenLateEnds: (() => void) | undefined = undefined
  private epoch = 0
  private startedAt = 0
  /** By the clock that never steps; only where the policy limits the time of all attempts. */
  private startedSteadyAt = 0
  private latestFailure: LatestFailure | undefined = undefined
  private context: AttemptContext | undefined = undefined
  /** The trace of the call, if its caller has one. */
  private trail: AttemptTrace | undefined = undefined
  private step: TraceSpan | undefined = undefined
  private readonly policy: ResilientPolicy
  private readonly fn: (...args: A) => R | PromiseLike<R>
  private readonly args: A
  private readonly signal: AbortSignal | undefined
  private readonly resolve: (value: R) => void
  private readonly reject: (reason: unknown) => void

  constructor(
    policy: ResilientPolicy,
    fn: (...args: A) => R | PromiseLike<R>,
    args: A,
    signal: AbortSignal | undefined,
    resolve: (value: R) => void,
    reject: (reason: unknown) => void,
  ) {
    this.policy = policy
    this.fn = fn
    this.args = args
    this.signal = signal
    this.resolve = resolve
    this.reject = reject
  }

  start(): void {
    const { policy, signal } = this
    if (signal !== undefined) {
      if (signal.aborted) {
        this.reject(signal.reason)
        return
      }
      signal.addEventListener('abort', this)
    }
    const now = policy.readsClock ? policy.clock.now() : 0
    this.startedAt = now
    if (policy.retry.maxElapsedMs !== undefined) this.startedSteadyAt = monotonicNow(policy.clock)
    policy.budget?.recordCall(now)
    policy.retryLimit?.join()
    if (policy.tracing !== undefined) this.trail = traceOf(policy.tracing, policy)
    this.try(now)
  }

  /** Asks the rate limit, then starts an attempt. */
  private try(now: number): void {
    const { rateLimit } = this.policy
    if (rateLimit === undefined) {
      this.tryUnlimited(now)
      return
    }
    const retryAt = rateLimit.take(now)
    if (typeof retryAt === 'number') this.tryFrom(retryAt, now)
    else this.tryLater(retryAt, now)
  }

  private tryFrom(retryAt: number, now: number): void {
    if (retryAt > now) this.rateLimited(retryAt)
    else this.tryUnlimited(now)
  }

  private tryLater(retryAt: Promise<number>, now: number): void {
    void retryAt.then(retryAt => this.signal?.aborted || this.tryFrom(retryAt, now))
  }

  private tryUnlimited(now: number): void {
    const { breaker, lane } = this.policy
    if (breaker !== undefined) {
      const admission = breaker.admit(now)
      if (typeof admission !== 'number') {
        this.end(this.latestFailure ? this.gaveUp('breaker_open') : admission)
        return
      }
      this.epoch = admission
    }
    const attempt = ++this.attempt
    this.awaited = attempt
    lane?.start(this, now)
    try {
      const result =
        attempt === 1 || this.trail === undefined ? this.run(attempt) : this.follow(this.trail, now)
      if (isPromiseLike(result)) {
        promiseOf(result).then(
          value => this.won(attempt, value),
          thrown => this.lost(attempt, thrown),
        )
      } else this.won(attempt, result)
    } catch (thrown) {
      this.lost(attempt, thrown)
    }
  }

  private run(attempt: number): R | PromiseLike<R> {
    if (!this.policy.passContext) return this.fn(...this.args)
    this.context = new AttemptContext(attempt)
    // With passContext the function takes one more argument than `A` has. The overloads of resilient() ensure that.
    return this.fn(...([...this.args, this.context] as unknown as A))
  }

  /**
   * Runs a retry in its own span. The first attempt gets a span only if it fails, because the caller's span covers a call
   * that succeeds at once.
   */
  private follow(trail: AttemptTrace, now: number): R | PromiseLike<R> {
    const { attempt } = this
    const step = ignoreErrors(() => trail.attempt(attempt, now, this.latestFailure))
    this.step = step
    return step === undefined ? this.run(attempt) : runInSpan(step, () => this.run(attempt))
  }

  private won(attempt: number, value: R): void {
    if (attempt !== this.awaited) {
      if (attempt !== this.late) return
      // The attempt counts as failed, but its work is done. A retry would do the work twice.
      this.endLate(OVER)
      this.succeeded(attempt, value)
      return
    }
    this.stopWaiting()
    this.policy.breaker?.succeeded(this.epoch)
    if (this.step !== undefined) endSpan(this.step)
    this.succeeded(attempt, value)
  }

  private succeeded(attempts: number, value: R): void {
    const { name, clock, observer } = this.policy
    if (observer.callSucceeded) {
      const durationMs = Math.max(0, clock.now() - this.startedAt)
      observe(observer, 'callSucceeded', { name, attempts, durationMs })
    }
    if (attempts > 1 && observer.retrySucceeded) observe(observer, 'retrySucceeded', { name, attempts })
    this.signal?.removeEventListener('abort', this)
    this.resolve(value)
  }

  private lost(attempt: number, thrown: unknown): void {
    if (attempt !== this.awaited) {
      if (attempt === this.late) this.endLate(0)
      return
    }
    this.stopWaiting()
    this.recover(thrown).catch((reason: unknown) => this.end(reason))
  }

  /** The timeout of the attempt is over. */
  expire(): void {
    const { name, timeoutMs = 0 } = this.policy
    const reason = new TimeoutError(name, timeoutMs)
    const { context, attempt } = this
    this.late = attempt
    this.lost(attempt, reason)
    context?.abort(reason)
  }

  private endLate(late: number): void {
    this.late = late
    this.whenLateEnds?.()
  }

  /** Waits for a late attempt, at most until this time of the clock that never steps. */
  private lateEnd(untilMs: number): Promise<void> {
    const { clock } = this.policy
    const { signal } = this
    return new Promise((resolve, reject) => {
      const onAbort = () => end(() => reject(signal?.reason))
      const cancel = clock.schedule(Math.max(0, untilMs - monotonicNow(clock)), () => {
        this.late = 0
        end(resolve)
      })
      const end = (then: () => void) => {
        cancel()
        signal?.removeEventListener('abort', onAbort)
        this.whenLateEnds = undefined
        then()
      }
      this.whenLateEnds = () => end(resolve)
      signal?.addEventListener('abort', onAbort)
    })
  }

  /** The caller's signal aborted. */
  handleEvent(): void {
    const { context } = this
    const reason: unknown = this.signal?.reason
    if (this.awaited !== 0) {
      this.stopWaiting()
      this.policy.breaker?.settle(this.epoch, 'ignored', this.policy.clock.now())
      if (this.step !== undefined) discardSpan(this.step)
    }
    this.end(reason)
    context?.abort(reason)
  }

  /** Decides what follows a failed attempt, waits, and starts the next one. Rejects if there is none. */
  private async recover(thrown: unknown): Promise<void> {
    const { attempt, signal, policy } = this
    const { clock } = policy
    const now = clock.now()
    const lateUntilMs = this.late > 0 ? monotonicNow(clock) + policy.lateMs : 0
    const ended = { thrown, attempt, epoch: this.epoch, now }
    const failure = attemptFailed(policy, ended, failure => this.endTrace(failure, now))
    const previousDelayMs = this.latestFailure?.delayMs ?? 0
    const elapsedMs = policy.retry.maxElapsedMs === undefined ? 0 : monotonicNow(clock) - this.startedSteadyAt
    const next = decideNext(policy, { attempt, elapsedMs, previousDelayMs }, failure, now)
    const delayMs = next.do === 'retry' ? next.delayMs : 0
    this.latestFailure = { thrown, failure, endedAt: now, delayMs }
    if (next.do === 'give-up') throw this.gaveUp(next.because)
    await sleep(clock, delayMs, signal)
    if (this.late > 0) await this.lateEnd(lateUntilMs)
    if (this.late === OVER) return
    await this.waitForTurn()
    if (this.late !== OVER) this.try(clock.now())
  }

  private endTrace(failure: Failure, now: number): void {
    if (this.step !== undefined) endSpan(this.step, failure)
    else ignoreErrors(() => this.trail?.failed(this.attempt, this.startedAt, now, failure))
  }

  private async waitForTurn(): Promise<void> {
    const { clock, random, retryLimit } = this.policy
    if (retryLimit === undefined) return
    const turn = await this.decided(retryLimit.ask(clock.now(), random))
    if (turn.action !== 'go') await this.limited(turn)
    observeRetryAllowed(this.policy)
  }

  /** Waits for a later turn, or gives up without one. */
  private async limited(turn: LimitedTurn): Promise<void> {
    const { clock } = this.policy
    observeRetryLimited(this.policy, turn.action)
    if (turn.action !== 'wait') throw this.gaveUp('retry_limited')
    await sleep(clock, turn.until - clock.now(), this.signal)
  }

  /** Waits until the fleet has decided on the turn, or until the caller aborts. */
  private decided(turn: RetryTurn | PendingTurn): RetryTurn | Promise<RetryTurn> {
    if (turn.action !== 'pending') return turn
    const { signal } = this
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        turn.cancel()
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      turn.whenDecided(decision => {
        signal?.removeEventListener('abort', onAbort)
        resolve(decision)
      })
    })
  }

  private rateLimited(retryAt: number): void {
    const { name, observer } = this.policy
    if (observer.rateLimited) observe(observer, 'rateLimited', { name, retryAt })
    this.end(this.latestFailure ? this.gaveUp('rate_limited') : new RateLimitedError(name, retryAt))
  }

  /** Observes that the call is given up on. Returns the error of the last attempt, unchanged, for the rejection. */
  private gaveUp(reason: GiveUpReason): unknown {
    const { thrown, failure } = this.latestFailure!
    observeGivingUp(this.policy, this.attempt, reason, failure)
    return thrown
  }

  private stopWaiting(): void {
    this.awaited = 0
    this.policy.lane?.end(this)
    this.context = undefined
  }

  private end(reason: unknown): void {
    this.late = OVER
    this.signal?.removeEventListener('abort', this)
    this.reject(reason)
  }
}

/** A function of its own, because a closure inside of `start` would cost every call, also without tracing. */
function traceOf(tracing: Tracing, policy: ResilientPolicy): AttemptTrace | undefined {
  return ignoreErrors(() => tracing.call(policy))
}
