import type { Settlement, Subscription } from '../../ports/broker.ts'
import type { Cancel } from '../../ports/clock.ts'
import type { ProcessedOutcome } from '../../ports/observer.ts'
import type { LetterSaver } from '../letter-saver.ts'
import { observe } from '../observe.ts'
import type { PendingTurn } from '../shared-limit/fleet-turns.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Work } from './work.ts'

/** The next step of the consumer with a delivery. */
export type Next =
  /** Nothing: the delivery is settled, or it is lost and the broker delivers its event again. */
  | { readonly do: 'forget' }
  /** The consumer continues with the delivery after a short wait in process. */
  | { readonly do: 'wait'; readonly delayMs: number }
  /** The consumer continues when the fleet has decided on the turn of the retry. */
  | { readonly do: 'await-turn'; readonly turn: PendingTurn }
  /**
   * Another run of the same event is in progress. The consumer continues when that run has ended, or after a time limit.
   */
  | { readonly do: 'await-run'; readonly until: (wake: (isOver: boolean) => void) => Cancel }
  /** The breaker refused the attempt. The delivery returns to the head of the queue. */
  | { readonly do: 'pause'; readonly retryAt: number | undefined }
  /** The ledger is unreachable. The delivery returns to the head of the queue until the ledger answers. */
  | { readonly do: 'ask-ledger-later' }

export const FORGET: Next = Object.freeze({ do: 'forget' })
const DONE: Settlement = Object.freeze({ outcome: 'done' })

/** The parts of a consumer that the handling of its deliveries needs. */
export interface Host {
  readonly subscription: Subscription
  readonly saver: LetterSaver | undefined
  /** Aborted when the grace time of a shutdown is over. */
  readonly closing: AbortSignal
  /**
   * Repeats the task until it succeeds. Resolves to false if the consumer closes before that. Rejects with a fault of the letter
   * (`isLetterFault`), because all other events would wait for that one letter.
   */
  persist(task: () => Promise<unknown>): Promise<boolean>
  processed(outcome: ProcessedOutcome, now: number): void
  ledgerAnswered(): void
  /** Reports a failed settlement. The broker delivers the event again. */
  settlementFailed(error: unknown): void
}

/** Passes settlements to the broker, and observes the results. */
export class DeliverySettler {
  readonly #policy: ConsumerPolicy
  readonly #host: Host

  constructor(policy: ConsumerPolicy, host: Host) {
    this.#policy = policy
    this.#host = host
  }

  done(work: Work, outcome: ProcessedOutcome, startedAt: number): Next | Promise<Next> {
    return this.settle(work, DONE, outcome, startedAt)
  }

  /** Releases a delivery whose latest attempt does not count. Earlier attempts of this process count, so they are recorded. */
  giveBack(work: Work, notBefore: number): Next | Promise<Next> {
    if (work.unrecorded.length > 0) return this.retry(work, notBefore, notBefore)
    return this.settle(work, { outcome: 'release', notBefore }, 'released', notBefore)
  }

  /** Returns the event to the broker for a retry, with its attempts so far. */
  retry(work: Work, notBefore: number, startedAt: number): Next | Promise<Next> {
    const ended = work.takeUnrecorded()
    return this.settle(work, { outcome: 'retry', notBefore, ended }, 'retried', startedAt)
  }

  /** Calls `afterwards` only if the broker accepts the settlement. */
  settle(
    work: Work,
    settlement: Settlement,
    outcome: ProcessedOutcome,
    startedAt: number,
    afterwards?: () => void,
  ): Next | Promise<Next> {
    try {
      const settling = this.#host.subscription.settle(work.delivery, settlement)
      if (settling === undefined) return this.#settled(work, settlement, outcome, startedAt, afterwards)
      work.endedAt = undefined
      return this.#settledLater(settling, work, settlement, outcome, startedAt, afterwards)
    } catch (error) {
      return this.lost(error)
    }
  }

  /** A method of its own, because its closure would cost every settlement, also one that the broker accepts at once. */
  #settledLater(
    settling: Promise<void>,
    work: Work,
    settlement: Settlement,
    outcome: ProcessedOutcome,
    startedAt: number,
    afterwards: (() => void) | undefined,
  ): Promise<Next> {
    return settling.then(
      () => this.#settled(work, settlement, outcome, startedAt, afterwards),
      (error: unknown) => this.lost(error),
    )
  }

  #settled(
    work: Work,
    settlement: Settlement,
    outcome: ProcessedOutcome,
    startedAt: number,
    afterwards: (() => void) | undefined,
  ): Next {
    const { channel, name, clock, observer } = this.#policy
    // A broker that keeps the letter itself bypasses the letter saver, which otherwise observes it.
    if (settlement.outcome === 'dead' && !settlement.saved && observer.letterSaved)
      observe(observer, 'letterSaved', { channel, name, letter: settlement.letter })
    afterwards?.()
    const now = work.endedAt ?? clock.now()
    this.#host.processed(outcome, now)
    const attempts = work.started
    if (observer.eventProcessed) {
      const durationMs = Math.max(0, now - startedAt)
      observe(observer, 'eventProcessed', { channel, name, outcome, attempts, durationMs })
    }
    if (outcome === 'done' && attempts > 1 && observer.retrySucceeded)
      observe(observer, 'retrySucceeded', { name, attempts })
    return FORGET
  }

  /** The broker did not accept the settlement, so it still has the event and delivers it again. */
  lost(error: unknown): Next {
    this.#host.settlementFailed(error)
    return FORGET
  }
}
