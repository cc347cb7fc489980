import { summariseFailure } from '../../core/dead-letter/create.ts'
import type { AttemptRecord } from '../../core/dead-letter/letter.ts'
import type { Failure } from '../../core/failure/failure.ts'
import { FingerprintSamples } from '../../core/failure/fingerprint-samples.ts'
import { blamesEvent } from '../../core/poison/poison.ts'
import { decideRetry } from '../../core/retry/decide.ts'
import type { GiveUpReason } from '../../ports/observer.ts'
import { endSpan, type TraceSpan } from '../../ports/tracing.ts'
import { attemptFailed, classifyThrown, decideNext, observeGivingUp } from '../attempt/after-failure.ts'
import type { Attempt, AttemptEnd } from '../attempt/attempt.ts'
import { observe } from '../observe.ts'
import type { Claims } from './claims.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { DeliverySettler, Host, Next } from './delivery-settler.ts'
import { type HandlerRuns, LateRun } from './handler-runs.ts'
import type { ConsumerLetters } from './letters.ts'
import type { FailedAttempt, Refusal, Work } from './work.ts'

/** The longest wait for an aborted handler when the consumer closes. After that its claim ends with its lease. */
const ABORT_GRACE_MS = 100
const NEVER = new AbortController().signal

/**
 * Decides what follows a failed attempt. The failure is observed at once. The decision waits until the run of the handler
 * has ended, or until `lateMs` has passed for a handler that ignores its signal:
 *
 *   timed out ─▶ keeps its slot for `lateMs` ─┬─ succeeds ─▶ done
 *                                             ├─ fails ────▶ retry | dead, as the timeout decides
 *                                             └─ runs on ──▶ retry | dead, and its slot is free
 *                                                  ├─ succeeds ─▶ the retry is done without a run, a letter is resolved
 *                                                  └─ fails ────▶ the next attempt may start
 *
 * While a handler is running, its claim is renewed and no other attempt of the event starts in this process. When the
 * consumer closes, the run continues without it: renewals end, and the other consumers of this process still wait for the
 * run. Its outcome is recorded if others keep the ledger and the store open.
 */
export class FailedAttempts {
  readonly #policy: ConsumerPolicy
  readonly #host: Host
  readonly #runs: HandlerRuns
  readonly #claims: Claims | undefined
  readonly #settler: DeliverySettler
  readonly #letters: ConsumerLetters
  readonly #fingerprints = new FingerprintSamples()
  /** One promise for each late run that no longer counts towards the concurrency. It resolves when the outcome is recorded. */
  readonly #left = new Set<Promise<void>>()
  /** One promise for each late run that has ended and whose outcome is being recorded. */
  readonly #endings = new Set<Promise<void>>()
  /** Runs that continue although the consumer closes. */
  readonly #interrupted = new Set<LateRun>()
  #lateCount = 0
  #isClosed = false

  constructor(
    policy: ConsumerPolicy,
    host: Host,
    runs: HandlerRuns,
    claims: Claims | undefined,
    settler: DeliverySettler,
    letters: ConsumerLetters,
  ) {
    this.#policy = policy
    this.#host = host
    this.#runs = runs
    this.#claims = claims
    this.#settler = settler
    this.#letters = letters
  }

  /** The number of runs past their deadline, with those that closed consumers of the handler have left. */
  get lateCount(): number {
    return this.#lateCount + this.#runs.orphans
  }

  /** Resolves when all late runs have ended and their outcomes are recorded. */
  async lateEnded(): Promise<void> {
    await Promise.all(this.#left)
  }

  /** Resolves when the outcomes of the late runs that have ended are recorded. It does not wait for the others. */
  async lateSettled(): Promise<void> {
    await Promise.all(this.#endings)
  }

  /** The consumer is closed. The next consumer takes over the runs that continue, and shows them. */
  close(): void {
    this.#isClosed = true
    this.#runs.orphans += this.#lateCount
    this.#lateCount = 0
    for (const run of this.#interrupted) this.#observeLateRun(run, 'running')
    this.#interrupted.clear()
  }

  /** Classifies the failure, and reports it to the trace, the breaker and the observer. */
  observe(work: Work, startedAt: number, thrown: unknown, step: TraceSpan | undefined): FailedAttempt {
    const at = this.#policy.clock.now()
    const attempt = work.started
    const ended = { thrown, attempt, epoch: work.takeEpoch(), now: at }
    const failure = this.#policy.faults.concerning({ event: work.event }, () =>
      attemptFailed(this.#policy, ended, failure => step && endSpan(step, failure)),
    )
    return { thrown, failure, attempt, startedAt, at }
  }

  /** Decides between a retry and a letter, and does it. */
  next(work: Work, failed: FailedAttempt, run?: LateRun): Next | Promise<Next> {
    const { clock, poison, inProcessWaitMs } = this.#policy
    const { failure, attempt, startedAt, at } = failed
    const now = clock.now()
    const cycle = poison === 'off' ? undefined : () => work.cycleHistory({ failure, at })
    const history = {
      attempt,
      elapsedMs: work.elapsedMs(clock, startedAt, now),
      previousDelayMs: work.previousDelayMs,
      cycle,
    }
    const decision = decideNext(this.#policy, history, failure, now)
    work.record(this.#recordOf(failed, decision.do === 'retry' ? decision.delayMs : undefined))
    if (decision.do === 'give-up') return this.#giveUp(work, failed, decision.because, run)
    if (decision.delayMs <= inProcessWaitMs) return { do: 'wait', delayMs: decision.delayMs }
    return this.#settler.retry(work, decision.at, startedAt)
  }

  /** An async schema refused the payload. The attempt has ended, and a retry cannot succeed. */
  refused(work: Work, failed: FailedAttempt, refusal: Refusal): Promise<Next> {
    work.record(this.#recordOf(failed, undefined))
    return this.#letters.giveUp(work, { ...refusal, failure: failed.failure }, failed.startedAt)
  }

  /**
   * The retry is due, and the last run of the event is still in progress. No attempt starts, but the retry policy counts
   * one. So an event whose handler never ends becomes a letter after its last attempt, and does not wait forever.
   */
  stillRunning(work: Work, run: LateRun): Next | Promise<Next> {
    const { clock, retry, random, inProcessWaitMs } = this.#policy
    const { failure, startedAt } = run.failed
    const { history, previousDelayMs } = work
    const now = clock.now()
    const attempt = work.started + ++run.skippedAttempts
    // The history has the attempt already, if the event was delivered again.
    const elapsedMs = work.elapsedMs(clock, history.length > 0 ? now : startedAt, now)
    const decision = decideRetry(retry, { failure, attempt, elapsedMs, previousDelayMs }, random)
    if (decision.action === 'give-up') return this.#giveUp(work, run.failed, 'still_running', run)
    const { delayMs } = decision
    if (delayMs <= inProcessWaitMs) return { do: 'wait', delayMs }
    return this.#settler.giveBack(work, now + delayMs)
  }

  /** The attempt timed out, and its handler is still running. */
  async outlived(work: Work, attempt: Attempt, failed: FailedAttempt): Promise<Next> {
    const { clock, lateMs } = this.#policy
    this.#addLate(1)
    this.#claims?.keep(work)
    const how = await attempt.lateEnd(clock, lateMs, this.#host.closing)
    if (how === 'running') {
      // The timeout and `lateMs` are over. The event continues to its retry or its letter.
      const run = new LateRun(work, failed)
      this.#runOn(run, attempt)
      return this.next(work, failed, run)
    }
    if (how === 'closing') {
      this.#interrupt(work, attempt, failed)
      work.record(this.#recordOf(failed, 0))
      return this.#settler.retry(work, clock.now(), failed.startedAt)
    }
    this.#addLate(-1)
    if (how === 'failed') {
      await this.#claims?.release(work)
      this.#runs.end(work.identity)
      return this.next(work, failed)
    }
    this.#observeLateRun(new LateRun(work, failed), 'succeeded')
    await this.#claims?.complete(work)
    this.#runs.end(work.identity)
    return this.#letters.handled(work, failed.startedAt)
  }

  /** The consumer closes. A handler that ends now settles its claim; the claim of any other ends with its lease. */
  async aborted(work: Work, attempt: Attempt, startedAt: number, thrown: unknown): Promise<void> {
    const { clock } = this.#policy
    const at = clock.now()
    // Not observed: the attempt did not fail.
    const failure = this.#classify(work, thrown, at)
    if (attempt.isRunning && this.#claims !== undefined) await attempt.lateEnd(clock, ABORT_GRACE_MS, NEVER)
    if (attempt.isRunning) {
      this.#addLate(1)
      this.#interrupt(work, attempt, { thrown, failure, attempt: work.started, startedAt, at })
      return
    }
    if (attempt.late?.ok) await this.#claims?.complete(work)
    else await this.#claims?.release(work)
    this.#runs.end(work.identity)
  }

  /**
   * The caller withdrew the delivery, and the signal of the handler has aborted. The attempt does not count as failed. The
   * caller gets its delivery back when the handler has ended, because it may deliver the event again at once. A handler that
   * ignores its signal is waited for up to `lateMs`; one that succeeds in that time has handled the event.
   */
  async withdrawn(work: Work, attempt: Attempt, startedAt: number, thrown: unknown): Promise<Next> {
    const { clock, lateMs } = this.#policy
    const at = clock.now()
    const failure = this.#classify(work, thrown, at)
    const failed = { thrown, failure, attempt: work.started, startedAt, at }
    this.#addLate(1)
    this.#claims?.keep(work)
    const how = await attempt.lateEnd(clock, lateMs, this.#host.closing)
    if (how === 'running' || how === 'closing') {
      if (how === 'closing') this.#interrupt(work, attempt, failed)
      else this.#runOn(new LateRun(work, failed), attempt)
      return this.#settler.giveBack(work, clock.now())
    }
    this.#addLate(-1)
    if (how === 'succeeded') await this.#claims?.complete(work)
    else await this.#claims?.release(work)
    this.#runs.end(work.identity)
    if (how === 'succeeded') return this.#letters.handled(work, startedAt)
    return this.#settler.giveBack(work, clock.now())
  }

  #classify({ event }: Work, thrown: unknown, at: number): Failure {
    return this.#policy.faults.concerning({ event }, () => classifyThrown(this.#policy, thrown, at))
  }

  #giveUp(work: Work, failed: FailedAttempt, reason: GiveUpReason, run?: LateRun): Promise<Next> {
    const { failure, thrown, startedAt } = failed
    observeGivingUp(this.#policy, work.started, reason, failure, work.event)
    return this.#letters.giveUp(work, { reason, failure, thrown }, startedAt, run)
  }

  #recordOf(
    { thrown, attempt, startedAt, at, failure }: FailedAttempt,
    delayMs: number | undefined,
  ): AttemptRecord {
    // A retry that no poison decision depends on does not need the exact fingerprint.
    const isExact = delayMs === undefined || blamesEvent(failure.category)
    const fingerprint = isExact ? failure.fingerprint.id : this.#fingerprints.idOf(thrown, failure)
    const summary = summariseFailure(failure, fingerprint, this.#policy.caps)
    return { number: attempt, startedAt, endedAt: at, failure: summary, delayMs }
  }

  /** The handler runs on, and no longer counts towards the concurrency. */
  #runOn(run: LateRun, attempt: Attempt): void {
    this.#observeLateRun(run, 'running')
    this.#follow(run, attempt)
  }

  #interrupt(work: Work, attempt: Attempt, failed: FailedAttempt): void {
    const run = new LateRun(work, failed)
    this.#claims?.abandon(work)
    this.#interrupted.add(run)
    this.#follow(run, attempt)
    if (this.#isClosed) this.close()
  }

  #follow(run: LateRun, attempt: Attempt): void {
    this.#runs.start(run.work.identity, run)
    const left = new Promise<void>(resolve => {
      attempt.whenOver = end => {
        const ending = this.#runEnded(run, end).finally(() => this.#endings.delete(ending))
        this.#endings.add(ending)
        resolve(ending)
      }
    }).finally(() => this.#left.delete(left))
    this.#left.add(left)
    // The run ended before this listener was added.
    if (attempt.late !== undefined) attempt.whenOver?.(attempt.late)
  }

  async #runEnded(run: LateRun, { ok }: AttemptEnd): Promise<void> {
    const { work } = run
    this.#addLate(-1)
    this.#interrupted.delete(run)
    run.hasSucceeded = ok
    if (ok) await this.#claims?.complete(work)
    else await this.#claims?.release(work)
    // A handler that ends as soon as its consumer closes is not observed as late.
    if (run.isObserved) this.#observeLateRun(run, ok ? 'succeeded' : 'failed')
    if (ok) {
      if (run.resolveLetter !== undefined) await run.resolveLetter()
      else this.#runs.remember(work.identity, run)
    }
    this.#runs.end(work.identity)
  }

  #addLate(count: 1 | -1): void {
    if (this.#isClosed) this.#runs.orphans += count
    else this.#lateCount += count
  }

  #observeLateRun(run: LateRun, state: 'running' | 'succeeded' | 'failed'): void {
    const { channel, name, clock, observer } = this.#policy
    const { startedAt, attempt } = run.failed
    run.isObserved = true
    if (!observer.lateRun) return
    const durationMs = Math.max(0, clock.now() - startedAt)
    observe(observer, 'lateRun', { channel, name, eventId: run.work.event.id, attempt, state, durationMs })
  }
}
