import { type DeliveredReplay, deliveredReplay } from '../../../core/dead-letter/change.ts'
import type { AttemptRecord, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Delivery, Undecodable } from '../../../ports/broker.ts'
import type { Side } from './keys.ts'
import { addEnded, type Past } from './past.ts'

/** One handing-over. What consumers see of it never changes; what is recorded meanwhile is told by the next one. */
export class StreamDelivery implements Delivery {
  readonly channel: string
  readonly content: LazaretEvent | Undecodable
  readonly started: number
  readonly ended: number
  readonly history: readonly AttemptRecord[]
  readonly origin: Origin
  readonly side: Side
  readonly id: string
  /** How scripts name it. */
  readonly mark: string
  /** Whether scripts keep notes of its attempts, beside what its entry says. */
  hasNotes = false
  #past: Past
  #begun = 0
  #endedHere = 0

  constructor(place: StreamPlace, side: Side, id: string, past: Past, content: LazaretEvent | Undecodable) {
    this.channel = place.channel
    this.content = content
    this.started = past.started
    this.ended = past.ended
    this.history = past.history
    this.origin = { broker: place.broker, queue: place.queue, offset: past.from }
    this.side = side
    this.id = id
    this.mark = `${side} ${id}`
    this.#past = past
  }

  /** An attempt begins. Those that ended before it, in process, are part of its past from now on. */
  begin(ended: readonly AttemptRecord[]): void {
    this.end(ended)
    this.#begun++
  }

  end(ended: readonly AttemptRecord[]): void {
    this.#endedHere += ended.length
    this.#past = addEnded(this.#past, ended)
  }

  /** What its event claims to be. */
  get replay(): DeliveredReplay | undefined {
    return deliveredReplay(this.content)
  }

  /** With every attempt that has begun. */
  get past(): Past {
    return { ...this.#past, started: this.started + this.#begun }
  }

  /** The same without the one that has begun last: that one is known by being among those that run. */
  get pastBeforeThisAttempt(): Past {
    return { ...this.#past, started: this.started + Math.max(0, this.#begun - 1) }
  }

  /** With the start that has not ended taken back. */
  get pastTakenBack(): Past {
    return this.#begun > this.#endedHere ? this.pastBeforeThisAttempt : this.past
  }
}

/** What is the same for all deliveries of a subscription. */
export interface StreamPlace {
  readonly broker: string
  readonly channel: string
  /** The key of the stream. */
  readonly queue: string
}
