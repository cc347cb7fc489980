import { isInstance } from '../../core/failure/thrown.ts'
import { discardSpan, endSpan, runInSpan, type TraceSpan } from '../../ports/tracing.ts'
import { classifyThrown, observeRetryAllowed, observeRetryLimited } from '../attempt/after-failure.ts'
import { Attempt } from '../attempt/attempt.ts'
import { observe } from '../observe.ts'
import type { LimitedTurn } from '../shared-limit/fleet-turns.ts'
import { Claims } from './claims.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import { DeliverySettler, type Host, type Next } from './delivery-settler.ts'
import { checkEvent, SchemaRefusal, validateThen } from './event-checks.ts'
import { FailedAttempts } from './failed-attempts.ts'
import { HandlerContext } from './handler-context.ts'
import { type HandlerRuns, handlerRunsOf, LateRun } from './handler-runs.ts'
import { ConsumerLetters } from './letters.ts'
import { RetryTurns } from './retry-turns.ts'
import { type Refusal, type Work, withdraw } from './work.ts'

/** The delay before the broker delivers an event again whose handling threw. */
const REDELIVERY_DELAY_MS = 5_000

/** Aborts the attempts that are still running when the grace time is over. */
export class ShuttingDown extends Error {
  override readonly name = 'ShuttingDown'
}

/**
 * Takes one delivery from its arrival to its settlement:
 *
 *   other run? ─▶ check ─▶ its turn? ─▶ breaker ─▶ ledger ─▶ begin ─▶ attempt ─▶ done | retry | dead
 *
 * Every decision is core's; this asks, waits and tells. The breaker is asked before the ledger, because a claim that
 * waits for a failing dependency would only run out.
 */
export class Handling {
  readonly #policy: ConsumerPolicy
  readonly #host: Host
  readonly #settler: DeliverySettler
  readonly #letters: ConsumerLetters
  readonly #claims: Claims | undefined
  readonly #runs: HandlerRuns
  readonly #turns: RetryTurns
  /** Handles failed attempts, and handlers that run longer than their attempt. */
  readonly failed: FailedAttempts

  constructor(policy: ConsumerPolicy, host: Host) {
    this.#policy = policy
    this.#host = host
    this.#settler = new DeliverySettler(policy, host)
    this.#letters = new ConsumerLetters(policy, host, this.#settler)
    this.#claims = policy.ledger && new Claims(policy.ledger, policy)
    this.#runs = handlerRunsOf(policy.broker, policy.channel, policy.name)
    this.#turns = new RetryTurns(policy)
    this.failed = new FailedAttempts(policy, host, this.#runs, this.#claims, this.#settler, this.#letters)
  }

  /** Aborts the running attempts. */
  abort(reason: unknown): void {
    for (const { attempt } of this.#runs.ofOwner(this)) attempt?.abort(reason)
  }

  /** The consumer is closed. Claims of handlers that are still running end with their leases. */
  close(): void {
    this.#claims?.close()
    this.failed.close()
  }

  /** Returns synchronously if there is nothing to wait for. */
  handle(work: Work): Next | Promise<Next> {
    if (work.isWithdrawn) return this.giveBack(work)
    const now = this.#policy.clock.now()
    if (work.started > 0) this.#turns.left(work)
    if (!work.isChecked && work.replay > 0 && !this.#isFor(work))
      return this.#settler.done(work, 'skipped', now)
    // Another run is looked for first: an event that is running or handled must not be refused as expired or out of attempts.
    const run = this.#runs.get(work.identity)
    const next = run && this.#behind(run, work, now)
    if (next !== undefined) return next
    if (!work.isChecked) {
      const refusal = checkEvent(this.#policy, work, now)
      // Waiting for an async schema is part of the attempt and of its deadline.
      if (refusal instanceof Promise) work.validation = refusal
      else if (refusal !== undefined) return this.#refused(work, refusal, now)
      work.isChecked = true
    }
    return this.#enter(work, now)
  }

  /** A replay is for the handler that failed. The other handlers of the channel have handled the event already. */
  #isFor(work: Work): boolean {
    return (work.replayed?.handler ?? this.#policy.name) === this.#policy.name
  }

  #refused(work: Work, refusal: Refusal, now: number): Promise<Next> {
    const { faults } = this.#policy
    const failure = faults.concerning({ event: work.event }, () =>
      classifyThrown(this.#policy, refusal.thrown, now),
    )
    return this.#letters.giveUp(work, { ...refusal, failure }, now)
  }

  /** Asks the retry limit, the breaker and the ledger before an attempt. */
  #enter(work: Work, now: number): Next | Promise<Next> {
    const { breaker } = this.#policy
    if (work.started > 0 && !work.hasTurn) {
      const next = this.#takeTurn(work, now)
      if (next !== undefined) return next
    }
    if (work.started > 0 && this.#policy.retryLimit !== undefined) observeRetryAllowed(this.#policy)
    // A turn is valid now only. Turns that were kept while the breaker is open would add up to a burst.
    work.hasTurn = false
    if (breaker !== undefined) {
      const admission = breaker.admit(now)
      if (typeof admission !== 'number') return this.#whenOpen(work, admission.retryAt, now)
      work.epoch = admission
    }
    work.owner = this
    this.#runs.start(work.identity, work)
    return this.#claims === undefined ? this.#attempt(work, now) : this.#claimFirst(this.#claims, work)
  }

  /**
   * Another run of the event is in progress, or has succeeded after the event was returned for a retry. Undefined if there
   * is none.
   */
  #behind(run: Work | LateRun, work: Work, now: number): Next | Promise<Next> | undefined {
    const { timeoutMs, lateMs, clock } = this.#policy
    const { identity } = work
    // A turn is valid now only. Used later, it would exceed the limit at that time.
    work.hasTurn = false
    const isLate = run instanceof LateRun
    // The run is in progress until its success is recorded.
    if (isLate && run.hasSucceeded && !this.#runs.isUnderWay(identity)) {
      this.#runs.forget(identity)
      // An edited event must run once more.
      return run.work.replay === work.replay && !run.hasSettled ? this.#letters.handled(work, now) : undefined
    }
    const waitLimitMs = isLate ? timeoutMs : timeoutMs + lateMs
    return { do: 'await-run', until: wake => this.#runs.whenOver(identity, clock, waitLimitMs, wake) }
  }

  /** The other run of the event has not ended within the time limit. */
  waitTimedOut(work: Work): Next | Promise<Next> {
    const run = this.#runs.get(work.identity)
    if (run instanceof LateRun && !run.hasSucceeded && !work.isWithdrawn)
      return this.failed.stillRunning(work, run)
    return this.handle(work)
  }

  /** Releases a delivery whose handler does not run: the consumer closes, or the caller withdrew it. */
  giveBack(work: Work): Next | Promise<Next> {
    this.#turns.left(work)
    return this.#settler.giveBack(work, this.#policy.clock.now())
  }

  /** Releases a delivery whose handling threw, with a delay, because it would probably throw again at once. */
  async giveBackBroken(work: Work): Promise<Next> {
    const run = this.#runs.get(work.identity)
    withdraw(this.#policy.breaker, work, this.#policy.clock.now())
    // The claim of a handler that is still running belongs to its run.
    if (!(run instanceof LateRun && run.work === work)) await this.#claims?.release(work)
    if (run === work) this.#runs.end(work.identity)
    return this.#settler.giveBack(work, this.#policy.clock.now() + REDELIVERY_DELAY_MS)
  }

  async #attempt(work: Work, now: number): Promise<Next> {
    const { clock, budget, breaker, name, handle, retry, trails, observer, schema, inputOf } = this.#policy
    const { subscription, closing } = this.#host
    let startedAt = now
    try {
      const begun = subscription.begin(work.delivery, work.takeUnrecorded())
      if (begun !== undefined) {
        await begun
        startedAt = clock.now()
      }
    } catch (error) {
      withdraw(breaker, work, clock.now())
      await this.#endRun(work)
      return this.#settler.lost(error)
    }
    work.started++
    // The grace time ended while the broker recorded the start, so nothing would abort this attempt.
    if (closing.aborted || work.isWithdrawn) return this.#interrupted(work)
    if (work.started === 1) budget?.recordCall(startedAt)
    if (retry.maxElapsedMs !== undefined) work.measureElapsed(clock, startedAt)
    const step = trails?.attempt(work, startedAt)
    const context = new HandlerContext(work.started, work.replay, step)
    const { timeoutMs, deadlines } = this.#policy
    const attempt = new Attempt(context, name, timeoutMs, deadlines)
    work.attempt = attempt
    if (schema === undefined) work.input = inputOf(work.event)
    const unfollow = work.signal && attempt.abortWith(work.signal)
    const end =
      step === undefined && work.validation === undefined
        ? await attempt.call(handle, work.input, startedAt)
        : await attempt.call(this.#tracedOrValidated, { work, step }, startedAt)
    unfollow?.()
    work.attempt = undefined
    const endedAt = observer.handlerEnded && this.#observeHandlerEnd(work, startedAt, end.ok)
    if (end.ok) {
      if (step !== undefined) endSpan(step)
      return this.#succeeded(work, startedAt, endedAt)
    }
    if (isInstance(end.thrown, ShuttingDown)) {
      if (step !== undefined) discardSpan(step)
      return this.#aborted(work, attempt, startedAt, end.thrown)
    }
    if (work.isWithdrawn && end.thrown === work.signal?.reason) {
      if (step !== undefined) discardSpan(step)
      withdraw(breaker, work, clock.now())
      return this.failed.withdrawn(work, attempt, startedAt, end.thrown)
    }
    const refusal = isInstance(end.thrown, SchemaRefusal) ? end.thrown.refusal : undefined
    const failed = this.failed.observe(work, startedAt, refusal?.thrown ?? end.thrown, step)
    // The next attempt asks the schema again, because the handler may have changed what the schema made.
    if (schema !== undefined) work.isChecked = false
    // The attempt may have timed out before the schema answered.
    if (refusal === undefined && work.validation !== undefined) work.validation = undefined
    else if (attempt.isRunning || attempt.late !== undefined)
      return this.failed.outlived(work, attempt, failed)
    const ending = this.#endRun(work)
    if (ending !== undefined) await ending
    return refusal === undefined ? this.failed.next(work, failed) : this.failed.refused(work, failed, refusal)
  }

  /** Calls the handler in the span of its attempt, and after an async schema. Most handlers are called directly. */
  readonly #tracedOrValidated = (
    { work, step }: { readonly work: Work; readonly step: TraceSpan | undefined },
    context: HandlerContext,
  ): unknown => {
    const call = () => this.#policy.handle(work.input, context)
    const run = work.validation === undefined ? call : () => validateThen(work, context, call)
    return step === undefined ? run() : runInSpan(step, run)
  }

  #observeHandlerEnd(work: Work, startedAt: number, succeeded: boolean): number {
    const { channel, name, clock, observer } = this.#policy
    const now = clock.now()
    const durationMs = Math.max(0, now - startedAt)
    observe(observer, 'handlerEnded', { channel, name, attempt: work.started, succeeded, durationMs })
    return now
  }

  #succeeded(work: Work, startedAt: number, endedAt: number | undefined): Next | Promise<Next> {
    const epoch = work.takeEpoch()
    if (epoch !== undefined) this.#policy.breaker?.succeeded(epoch)
    if (this.#claims !== undefined || work.replay > 0) return this.#writeDown(work, startedAt)
    this.#runs.end(work.identity)
    work.endedAt = endedAt
    return this.#settler.done(work, 'done', startedAt)
  }

  /** Records the success in the ledger and on the letter before the event is acknowledged. */
  async #writeDown(work: Work, startedAt: number): Promise<Next> {
    await this.#claims?.complete(work)
    this.#runs.end(work.identity)
    return this.#letters.handled(work, startedAt)
  }

  /** The grace time ended before the handler. The recorded start is removed, so that closing does not cost an attempt. */
  async #aborted(work: Work, attempt: Attempt, startedAt: number, thrown: unknown): Promise<Next> {
    const now = this.#policy.clock.now()
    withdraw(this.#policy.breaker, work, now)
    await this.failed.aborted(work, attempt, startedAt, thrown)
    return this.#settler.giveBack(work, now)
  }

  /** The same, before the handler was called. */
  async #interrupted(work: Work): Promise<Next> {
    const now = this.#policy.clock.now()
    withdraw(this.#policy.breaker, work, now)
    await this.#endRun(work)
    return this.#settler.giveBack(work, now)
  }

  /** The event was not handled, and its handler does not run: the next consumer may claim and attempt the event. */
  #endRun(work: Work): Promise<void> | undefined {
    if (this.#claims !== undefined) return this.#releaseClaim(this.#claims, work)
    this.#runs.end(work.identity)
    return undefined
  }

  async #releaseClaim(claims: Claims, work: Work): Promise<void> {
    await claims.release(work)
    this.#runs.end(work.identity)
  }

  /** Asks the retry limit for a turn; undefined if the retry may start now. */
  #takeTurn(work: Work, now: number): Next | Promise<Next> | undefined {
    const asked = this.#turns.ask(work, now)
    if (asked.kind === 'go') return undefined
    if (asked.kind === 'later') return this.#settler.giveBack(work, asked.at)
    return asked.kind === 'pending'
      ? { do: 'await-turn', turn: asked.turn }
      : this.limited(work, asked.turn, now)
  }

  /** Applies `onLimit`, because the retry limit has no turn now. */
  limited(work: Work, turn: LimitedTurn, now: number): Next | Promise<Next> {
    const { name, observer } = this.#policy
    observeRetryLimited(this.#policy, turn.action)
    if (turn.action === 'wait') {
      work.hasTurn = true
      return { do: 'wait', delayMs: Math.max(0, turn.until - now) }
    }
    this.#turns.left(work)
    // A replay is never dropped, because its letter waits for the outcome.
    if (turn.action === 'dead-letter' || work.replay > 0)
      return this.#letters.giveUp(work, { reason: 'retry_limited' }, now)
    if (observer.eventDropped)
      observe(observer, 'eventDropped', { name, type: work.event.type, reason: 'retry_limited' })
    return this.#settler.done(work, 'dead', now)
  }

  #whenOpen(work: Work, retryAt: number | undefined, now: number): Next | Promise<Next> {
    const { whenOpen } = this.#policy
    if (whenOpen === 'dead-letter') return this.#letters.giveUp(work, { reason: 'breaker_open' }, now)
    // A breaker that a person forced open has no retry time, so the delivery waits here.
    if (whenOpen === 'retry-later' && retryAt !== undefined) return this.#settler.giveBack(work, retryAt)
    return { do: 'pause', retryAt }
  }

  async #claimFirst(claims: Claims, work: Work): Promise<Next> {
    const { breaker, clock } = this.#policy
    const claim = await claims.claim(work)
    const now = clock.now()
    if (claim.kind !== 'unknown') this.#host.ledgerAnswered()
    if (claim.kind === 'claimed') return this.#attempt(work, now)
    this.#runs.end(work.identity)
    withdraw(breaker, work, now)
    if (claim.kind === 'unknown') return { do: 'ask-ledger-later' }
    if (claim.kind === 'busy') return this.#settler.giveBack(work, Math.max(now, claim.until))
    return this.#letters.handled(work, now, 'skipped')
  }
}
