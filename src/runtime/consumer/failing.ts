import { summariseFailure } from '../../core/dead-letter/create.ts'
import type { AttemptRecord } from '../../core/dead-letter/letter.ts'
import { classify } from '../../core/failure/classify.ts'
import { type Failure, saysDependencyIsSick } from '../../core/failure/failure.ts'
import { judgePoison } from '../../core/poison/poison.ts'
import { decideRetry } from '../../core/retry/decide.ts'
import { endStep } from '../../ports/following.ts'
import type { Step } from '../../ports/tracing.ts'
import { observe } from '../observe.ts'
import type { Burial } from './burial.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { LateRun } from './late-run.ts'
import type { Next, Settling } from './settling.ts'
import type { Refusal } from './vet.ts'
import { settleBreaker, type Work } from './work.ts'

/** A failed attempt, once it is known what its failure means and everyone has been told. */
export interface Told {
  readonly thrown: unknown
  readonly failure: Failure
  readonly attempt: number
  readonly startedAt: number
  readonly at: number
}

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
    const { name, breaker, observer } = this.#policy
    const told = this.untold(work, startedAt, thrown)
    const { at, failure } = told
    if (step !== undefined) endStep(step, failure)
    if (observer.attemptFailed) observe(observer, 'attemptFailed', { name, attempt: work.started, failure })
    settleBreaker(breaker, work, saysDependencyIsSick(failure) ? 'failure' : 'ignored', at)
    return told
  }

  /** The same for an attempt that did not fail, and of which nobody is told: its consumer closed. */
  untold(work: Work, startedAt: number, thrown: unknown): Told {
    const { clock, classify: rules, caps } = this.#policy
    const at = clock.now()
    const failure = classify(thrown, { rules, now: at, stack: caps.keepStack })
    return { thrown, failure, attempt: work.started, startedAt, at }
  }

  /** Again, and when? Or a letter. */
  next(work: Work, told: Told, run?: LateRun): Next | Promise<Next> {
    const { name, clock, observer, retry, random, poison, budget } = this.#policy
    const { previousDelayMs } = work
    const { failure, thrown, attempt, startedAt, at } = told
    const now = clock.now()
    const elapsedMs = now - (work.firstStartedAt ?? startedAt)
    const decision = decideRetry(retry, { failure, attempt, elapsedMs, previousDelayMs }, random)
    const { poisoned } = judgePoison(work.cycleHistory({ failure, at }), poison, now)
    const wanted = decision.action === 'retry' && !poisoned
    const again = wanted && (budget?.admitRetry(now) ?? true)
    work.record(this.recordOf(told, again ? decision.delayMs : undefined))
    if (again) {
      const { delayMs, delayFrom } = decision
      if (observer.retryScheduled)
        observe(observer, 'retryScheduled', { name, attempt: attempt + 1, delayMs, delayFrom })
      if (delayMs <= this.#policy.inProcessWaitMs) return { do: 'wait', delayMs }
      return this.#settling.retry(work, now + delayMs, startedAt)
    }
    if (wanted && observer.budgetExhausted) observe(observer, 'budgetExhausted', { name })
    const given = decision.action === 'give-up' ? decision.reason : 'retry_budget'
    // Poison says more than that the attempts are used up; that trying again cannot help says more than both.
    const reason = poisoned && given !== 'permanent' ? 'poison' : given
    if (observer.gaveUp) observe(observer, 'gaveUp', { name, attempts: attempt, reason, failure })
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
    const { name, clock, observer, retry, random, inProcessWaitMs } = this.#policy
    const { failure, thrown, startedAt } = run.told
    const now = clock.now()
    const attempt = work.started + ++run.turnsLost
    const { previousDelayMs } = work
    const elapsedMs = now - (work.firstStartedAt ?? startedAt)
    const decision = decideRetry(retry, { failure, attempt, elapsedMs, previousDelayMs }, random)
    if (decision.action === 'retry') {
      const { delayMs } = decision
      if (delayMs <= inProcessWaitMs) return { do: 'wait', delayMs }
      return this.#settling.giveBack(work, now + delayMs)
    }
    const reason = 'still_running'
    if (observer.gaveUp) observe(observer, 'gaveUp', { name, attempts: work.started, reason, failure })
    return this.#burial.bury(work, { reason, failure, thrown }, startedAt, run)
  }
}
