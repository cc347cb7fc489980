import { summariseFailure } from '../../core/dead-letter/create.ts'
import type { AttemptRecord } from '../../core/dead-letter/letter.ts'
import { decideRetry } from '../../core/retry/decide.ts'
import type { GiveUpReason } from '../../ports/observer.ts'
import { endStep, type Step } from '../../ports/tracing.ts'
import {
  decideNext,
  settleFailed,
  tellFailed,
  tellGaveUp,
  tellTimedOut,
  understand,
} from '../attempt/after-failure.ts'
import type { Burial } from './burial.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { LateRun } from './late-run.ts'
import type { Refusal } from './refusal.ts'
import type { Next, Settling } from './settling.ts'
import type { Told } from './told.ts'
import type { Work } from './work.ts'

/** What follows a failed attempt: it is told at once, and decided on when the run has ended or is given up waiting for. */
export class Failing {
  readonly #policy: ConsumerPolicy
  readonly #settling: Settling
  readonly #burial: Burial

  constructor(policy: ConsumerPolicy, settling: Settling, burial: Burial) {
    this.#policy = policy
    this.#settling = settling
    this.#burial = burial
  }

  tell(work: Work, startedAt: number, thrown: unknown, step: Step | undefined): Told {
    const told = this.untold(work, startedAt, thrown)
    const { at, failure } = told
    if (step !== undefined) endStep(step, failure)
    settleFailed(this.#policy, work.takeEpoch(), failure, at)
    tellTimedOut(this.#policy, work.started, thrown)
    tellFailed(this.#policy, work.started, failure)
    return told
  }

  /** The same for an attempt that did not fail, and of which nobody is told: its consumer closed. */
  untold(work: Work, startedAt: number, thrown: unknown): Told {
    const at = this.#policy.clock.now()
    const failure = understand(this.#policy, thrown, at)
    return { thrown, failure, attempt: work.started, startedAt, at }
  }

  /** Again, and when? Or a letter. */
  next(work: Work, told: Told, run?: LateRun): Next | Promise<Next> {
    const { clock, poison, inProcessWaitMs } = this.#policy
    const { failure, attempt, startedAt, at } = told
    const { previousDelayMs, firstStartedAt = startedAt } = work
    const now = clock.now()
    const cycle = poison === 'off' ? undefined : work.cycleHistory({ failure, at })
    const history = { attempt, firstStartedAt, previousDelayMs, cycle }
    const verdict = decideNext(this.#policy, history, failure, now)
    work.record(this.recordOf(told, verdict.do === 'retry' ? verdict.delayMs : undefined))
    if (verdict.do === 'retry') {
      if (verdict.delayMs <= inProcessWaitMs) return { do: 'wait', delayMs: verdict.delayMs }
      return this.#settling.retry(work, verdict.at, startedAt)
    }
    return this.#giveUp(work, told, verdict.because, run)
  }

  #giveUp(work: Work, told: Told, reason: GiveUpReason, run?: LateRun): Promise<Next> {
    const { failure, thrown, startedAt } = told
    tellGaveUp(this.#policy, work.started, reason, failure)
    return this.#burial.bury(work, { reason, failure, thrown }, startedAt, run)
  }

  /** An async schema refused the payload: the attempt has ended, and no other can help. */
  refused(work: Work, told: Told, refusal: Refusal): Promise<Next> {
    work.record(this.recordOf(told, undefined))
    return this.#burial.bury(work, { ...refusal, failure: told.failure }, told.startedAt)
  }

  recordOf({ attempt, startedAt, at, failure }: Told, delayMs: number | undefined): AttemptRecord {
    const summary = summariseFailure(failure, this.#policy.caps)
    return { number: attempt, startedAt, endedAt: at, failure: summary, delayMs }
  }

  /**
   * The event came back, and its last run still goes on. No attempt is made, yet the retry policy counts one: an event whose
   * handler never ends becomes a letter after as many turns as it has attempts, instead of waiting for ever.
   */
  turnLost(work: Work, run: LateRun): Next | Promise<Next> {
    const { clock, retry, random, inProcessWaitMs } = this.#policy
    const { failure, startedAt } = run.told
    const { previousDelayMs, firstStartedAt = startedAt } = work
    const now = clock.now()
    const attempt = work.started + ++run.turnsLost
    const elapsedMs = now - firstStartedAt
    const decision = decideRetry(retry, { failure, attempt, elapsedMs, previousDelayMs }, random)
    if (decision.action === 'give-up') return this.#giveUp(work, run.told, 'still_running', run)
    const { delayMs } = decision
    if (delayMs <= inProcessWaitMs) return { do: 'wait', delayMs }
    return this.#settling.giveBack(work, now + delayMs)
  }
}
