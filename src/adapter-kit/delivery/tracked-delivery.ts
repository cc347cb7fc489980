import { DEFAULT_MAX_ATTEMPTS_KEPT, keepFirstAndLatest } from '../../core/dead-letter/caps.ts'
import { type DeliveredReplay, deliveredReplay } from '../../core/dead-letter/change.ts'
import type { AttemptRecord, Origin } from '../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { Delivery, Undecodable } from '../../ports/broker.ts'

/** What a broker has recorded about the attempts of an event in the current cycle. */
export interface AttemptLog {
  readonly started: number
  readonly ended: number
  /** Oldest first. It is bounded, so it can be shorter than `ended`. */
  readonly history: readonly AttemptRecord[]
}

/** The log of an event that is delivered for the first time. */
export const EMPTY_LOG: AttemptLog = Object.freeze({ started: 0, ended: 0, history: Object.freeze([]) })

/**
 * A delivery that counts its attempts. The fields that a consumer reads never change: a broker records new attempts in
 * `log`, and the next delivery of the event shows them. Brokers extend this class with what they need to settle.
 */
export class TrackedDelivery implements Delivery {
  readonly channel: string
  readonly content: LazaretEvent | Undecodable
  readonly origin: Origin
  readonly started: number
  readonly ended: number
  readonly history: readonly AttemptRecord[]
  #startedNow: number
  #endedNow: number
  #historyNow: readonly AttemptRecord[]

  constructor(
    channel: string,
    content: LazaretEvent | Undecodable,
    origin: Origin,
    { started, ended, history }: AttemptLog = EMPTY_LOG,
  ) {
    this.channel = channel
    this.content = content
    this.origin = origin
    this.started = started
    this.ended = ended
    this.history = history
    this.#startedNow = started
    this.#endedNow = ended
    this.#historyNow = history
  }

  /** Undefined when the content could not be decoded. */
  get event(): LazaretEvent | undefined {
    return 'id' in this.content ? this.content : undefined
  }

  /** The replay that the event claims to belong to. */
  get replay(): DeliveredReplay | undefined {
    return deliveredReplay(this.content)
  }

  /** The log with the attempts of this delivery. */
  get log(): AttemptLog {
    return { started: this.#startedNow, ended: this.#endedNow, history: this.#historyNow }
  }

  /** The attempts that have started, those of this delivery included. */
  get startedNow(): number {
    return this.#startedNow
  }

  /** The attempts that have ended, those of this delivery included. */
  get endedNow(): number {
    return this.#endedNow
  }

  /** Attempts that started in this delivery and have not ended. */
  get running(): number {
    return this.#startedNow - this.started - (this.#endedNow - this.ended)
  }

  /** Whether an attempt started during this delivery. */
  get hasStarted(): boolean {
    return this.#startedNow > this.started
  }

  /** Whether an attempt ended during this delivery. */
  get hasNewEnds(): boolean {
    return this.#endedNow > this.ended
  }

  recordStart(): void {
    this.#startedNow++
  }

  recordEnds(ended: readonly AttemptRecord[]): void {
    if (ended.length === 0) return
    this.#endedNow += ended.length
    const history = this.#historyNow.length === 0 ? ended : [...this.#historyNow, ...ended]
    this.#historyNow = keepFirstAndLatest(history, DEFAULT_MAX_ATTEMPTS_KEPT)
  }

  /** The attempt that started last did not run: it does not count. */
  takeBackStart(): void {
    if (this.running > 0) this.#startedNow--
  }
}
