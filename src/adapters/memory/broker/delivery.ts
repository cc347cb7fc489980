import { DEFAULT_MAX_ATTEMPTS_KEPT, keepFirstAndLatest } from '../../../core/dead-letter/caps.ts'
import type { AttemptRecord, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Delivery, Undecodable } from '../../../ports/broker.ts'

/** What a channel carries: events, and what other programs sent that is none. */
export type Message = LazaretEvent | Undecodable

const NO_ATTEMPTS: readonly AttemptRecord[] = Object.freeze([])

/**
 * One handing-over. What consumers see of it never changes; what is recorded meanwhile is told by the next one, which
 * is another object, so that a settlement of this one that comes too late cannot be mistaken for one of that.
 */
export class MemoryDelivery implements Delivery {
  readonly channel: string
  readonly content: Message
  readonly origin: Origin
  readonly started: number
  readonly ended: number
  readonly history: readonly AttemptRecord[]

  /** The subscription that has it open. */
  holder: object | undefined = undefined
  previous: MemoryDelivery | undefined = undefined
  next: MemoryDelivery | undefined = undefined
  #startedNow: number
  #endedNow: number
  #historyNow: readonly AttemptRecord[]

  constructor(
    channel: string,
    content: Message,
    origin: Origin,
    started = 0,
    ended = 0,
    history = NO_ATTEMPTS,
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

  /** Undefined for what is no event. */
  get event(): LazaretEvent | undefined {
    return 'id' in this.content ? this.content : undefined
  }

  recordStart(): void {
    this.#startedNow++
  }

  /** Nothing came of the attempt that was begun: it counts as if it had not been. */
  takeBackStart(): void {
    const openHere = this.#startedNow - this.started - (this.#endedNow - this.ended)
    if (openHere > 0) this.#startedNow--
  }

  recordEnds(ended: readonly AttemptRecord[]): void {
    if (ended.length === 0) return
    this.#endedNow += ended.length
    this.#historyNow = keepFirstAndLatest([...this.#historyNow, ...ended], DEFAULT_MAX_ATTEMPTS_KEPT)
  }

  /** The next handing-over of the same message, telling what was recorded during this one. */
  again(): MemoryDelivery {
    const { channel, content, origin } = this
    return new MemoryDelivery(channel, content, origin, this.#startedNow, this.#endedNow, this.#historyNow)
  }
}
