import { type AttemptDecision, type AttemptHistory, decideAttempt } from '../../core/attempt/decide.ts'
import type { LetterCaps } from '../../core/dead-letter/caps.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { classify } from '../../core/failure/classify.ts'
import { type Failure, isDependencyFailure } from '../../core/failure/failure.ts'
import type { FailureRule } from '../../core/failure/failure-rule.ts'
import { isInstance } from '../../core/failure/thrown.ts'
import type { PoisonPolicy } from '../../core/poison/options.ts'
import type { Random } from '../../core/random.ts'
import type { RetryPolicy } from '../../core/retry/retry-policy.ts'
import type { GiveUpReason, Observer } from '../../ports/observer.ts'
import type { Breaker } from '../breaker.ts'
import type { RetryBudget } from '../limiters.ts'
import { observe } from '../observe.ts'
import type { LimitedTurn } from '../shared-limit/fleet-turns.ts'
import { TimeoutError } from './attempt.ts'

/**
 * The steps after a failed attempt, shared by consumers, `resilient()` and lanes. They apply the policies in this order:
 *
 *   classifyThrown ─▶ settleFailed ─▶ observeTimeout ─▶ observeFailedAttempt ─▶ decideNext (retry, poison, budget) ─▶ a retry, or observeGivingUp
 *
 * Consumers and `resilient()` call `attemptFailed` for all steps but the last two. A dispatcher calls each step itself,
 * because one write fails for many events.
 */
export interface AttemptPolicy {
  /** Of the handler, the function or the sink. */
  readonly name: string
  readonly classify: readonly FailureRule[]
  readonly retry: RetryPolicy
  readonly poison: PoisonPolicy
  readonly breaker: Breaker | undefined
  readonly budget: RetryBudget | undefined
  /** Of the letters that are made of failures; a call makes none. */
  readonly caps?: LetterCaps | undefined
  readonly observer: Observer
  readonly random: Random
}

interface EndedAttempt {
  readonly thrown: unknown
  readonly attempt: number
  /** Of the breaker that admitted the attempt; undefined when the breaker has been told already. */
  readonly epoch: number | undefined
  readonly now: number
}

/** A retry, or the reason to give up. */
export type FailureDecision =
  | AttemptDecision
  | { readonly do: 'give-up'; readonly because: Extract<GiveUpReason, 'retry_budget'> }

/** Classifies the thrown value by the user's rules and the built-in table. */
export function classifyThrown(policy: AttemptPolicy, thrown: unknown, now: number): Failure {
  return classify(thrown, { rules: policy.classify, now, stack: policy.caps?.keepStack })
}

/** Reports the result of an admitted attempt to the breaker. A failure caused by the event itself does not count. */
export function settleFailed(
  { breaker }: AttemptPolicy,
  epoch: number | undefined,
  failure: Failure,
  now: number,
): void {
  if (epoch !== undefined) breaker?.settle(epoch, isDependencyFailure(failure) ? 'failure' : 'ignored', now)
}

export function observeTimeout({ name, observer }: AttemptPolicy, attempt: number, thrown: unknown): void {
  if (observer.timedOut && isInstance(thrown, TimeoutError))
    observe(observer, 'timedOut', { name, attempt, timeoutMs: thrown.timeoutMs })
}

export function observeFailedAttempt(
  { name, observer }: AttemptPolicy,
  attempt: number,
  failure: Failure,
): void {
  if (observer.attemptFailed) observe(observer, 'attemptFailed', { name, attempt, failure })
}

/** Classifies the failure of an attempt, and reports it to the trace, the breaker and the observer. */
export function attemptFailed(
  policy: AttemptPolicy,
  { thrown, attempt, epoch, now }: EndedAttempt,
  endTrace: (failure: Failure) => void,
): Failure {
  const failure = classifyThrown(policy, thrown, now)
  endTrace(failure)
  settleFailed(policy, epoch, failure, now)
  observeTimeout(policy, attempt, thrown)
  observeFailedAttempt(policy, attempt, failure)
  return failure
}

/** Decides what follows, and reports the retry. A caller that gives up reports it with `observeGivingUp`. */
export function decideNext(
  policy: AttemptPolicy,
  history: AttemptHistory,
  failure: Failure,
  now: number,
  random: Random = policy.random,
): FailureDecision {
  const { name, observer, budget } = policy
  const decision = decideAttempt(policy, history, failure, now, random)
  if (decision.do !== 'retry') return decision
  if (budget !== undefined && !budget.admitRetry(now)) {
    if (observer.budgetExhausted) observe(observer, 'budgetExhausted', { name })
    return { do: 'give-up', because: 'retry_budget' }
  }
  if (observer.retryScheduled) {
    const { delayMs, delayFrom } = decision
    observe(observer, 'retryScheduled', { name, attempt: history.attempt + 1, delayMs, delayFrom })
  }
  return decision
}

export function observeGivingUp(
  { name, observer }: AttemptPolicy,
  attempts: number,
  reason: GiveUpReason,
  failure: Failure,
  event?: LazaretEvent,
): void {
  if (observer.gaveUp) observe(observer, 'gaveUp', { name, attempts, reason, failure, event })
}

/** Observes that the retry limit has no turn now, so the retry waits or is given up on. */
export function observeRetryLimited({ name, observer }: AttemptPolicy, turn: LimitedTurn['action']): void {
  const action = turn === 'wait' ? 'delay' : turn
  if (observer.retryLimited) observe(observer, 'retryLimited', { name, action })
}

/** Observes that the retry limit admitted the retry, at once or after a wait. */
export function observeRetryAllowed({ name, observer }: AttemptPolicy): void {
  if (observer.retryAllowed) observe(observer, 'retryAllowed', { name })
}
