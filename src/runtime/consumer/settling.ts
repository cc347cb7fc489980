import type { Settlement, Subscription } from '../../ports/broker.ts'
import type { Cancel } from '../../ports/clock.ts'
import type { ProcessedOutcome } from '../../ports/observer.ts'
import type { PendingTurn } from '../fleet/fleet-turns.ts'
import type { LetterSaver } from '../letters.ts'
import { observe } from '../observe.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Work } from './work.ts'

/** The next step of the consumer with a delivery. */
export type Next =
  /** Nothing: it is settled, or lost and will be handed over again. */
  | { readonly do: 'forget' }
  /** Comes back after a short wait in process. */
  | { readonly do: 'wait'; readonly delayMs: number }
  /** Comes back when it is known when its turn comes. */
  | { readonly do: 'hear'; readonly turn: PendingTurn }
  /**
   * Another run of the same event is in progress: the event comes back when that run has ended, or after a time limit.
   */
  | { readonly do: 'park'; readonly until: (wake: (isOver: boolean) => void) => Cancel }
  /** The breaker refused it; it goes back to the head of the queue. */
  | { readonly do: 'pause'; readonly retryAt: number | undefined }
  /** The ledger cannot be asked; it goes back to the head of the queue until that answers. */
  | { readonly do: 'ask-ledger-later' }

export const FORGET: Next = Object.freeze({ do: 'forget' })
const DONE: Settlement = Object.freeze({ outcome: 'done' })

/** What handling needs of the consumer it works for. */
export interface Host {
  readonly subscription: Subscription
  readonly saver: LetterSaver | undefined
  /** Aborted when the grace time of a shutdown is over. */
  readonly closing: AbortSignal
  /** Makes something durable, however long it takes; false when the consumer closes before it could be done. */
  persist(task: () => Promise<unknown>): Promise<boolean>
  processed(outcome: ProcessedOutcome, now: number): void
  ledgerAnswered(): void
  /** A settlement did not come about, so the event will be handed over again. */
  settlementFailed(error: unknown): void
}

/** Passes settlements to the broker, and observes the results. */
export class Settling {
  readonly #policy: ConsumerPolicy
  readonly #host: Host

  constructor(policy: ConsumerPolicy, host: Host) {
    this.#policy = policy
    this.#host = host
  }

  done(work: Work, outcome: ProcessedOutcome, startedAt: number): Next | Promise<Next> {
    return this.settle(work, DONE, outcome, startedAt)
  }

  /** Nothing was tried, or what was tried is taken back. What ended before that, in process, is put on record. */
  giveBack(work: Work, notBefore: number): Next | Promise<Next> {
    if (work.unrecorded.length > 0) return this.retry(work, notBefore, notBefore)
    return this.settle(work, { outcome: 'release', notBefore }, 'released', notBefore)
  }

  /** To be tried again, with what was tried so far on the record. */
  retry(work: Work, notBefore: number, startedAt: number): Next | Promise<Next> {
    const ended = work.takeUnrecorded()
    return this.settle(work, { outcome: 'retry', notBefore, ended }, 'retried', startedAt)
  }

  /** `afterwards` is done when the broker has taken it, and only then. */
  settle(
    work: Work,
    settlement: Settlement,
    outcome: ProcessedOutcome,
    startedAt: number,
    afterwards?: () => void,
  ): Next | Promise<Next> {
    const { channel, name, clock, observer } = this.#policy
    const settled = (): Next => {
      // Kept by the broker, it went through no letter saver that would have told.
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
    try {
      const settling = this.#host.subscription.settle(work.delivery, settlement)
      if (settling === undefined) return settled()
      work.endedAt = undefined
      return settling.then(settled, (error: unknown) => this.lost(error))
    } catch (error) {
      return this.lost(error)
    }
  }

  /** The broker did not take it, so it still has the event and will hand it over again. */
  lost(error: unknown): Next {
    this.#host.settlementFailed(error)
    return FORGET
  }
}
