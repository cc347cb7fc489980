import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import type { AttemptRecord, Origin } from '../../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import type { Delivery, Undecodable } from '../../../../ports/broker.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import { decode } from '../wire/decode.ts'
import { addEnded, type Past, readOrigin, readPast } from '../wire/state.ts'

/** One handing-over. What consumers see of it never changes; what is recorded meanwhile is told by the next one. */
export class RabbitmqDelivery implements Delivery {
  readonly channel: string
  readonly content: LazaretEvent | Undecodable
  readonly started: number
  readonly ended: number
  readonly history: readonly AttemptRecord[]
  readonly origin: Origin
  readonly message: AmqpMessage
  /** The channel it came on: its tag means nothing on any other. */
  readonly session: Epoch
  /** Told when the server does not take what becomes of it. */
  readonly stalls: StallReporter
  /** It came from the suspects. */
  readonly isSuspect: boolean
  #past: Past
  /** Attempts that were begun here and have not ended. */
  #running = 0

  constructor(session: Epoch, message: AmqpMessage, place: Place, isSuspect: boolean, known?: Past) {
    const past = known ?? readPast(message.properties.headers ?? {})
    this.channel = place.channel
    this.origin = readOrigin(place.broker, place.queue, message)
    this.content = decode(message, place.channel, this.origin)
    this.started = past.started
    this.ended = past.ended
    this.history = past.history
    this.message = message
    this.session = session
    this.stalls = place.stalls
    this.isSuspect = isSuspect
    this.#past = past
  }

  /** What the message is to carry when it is published again. */
  get past(): Past {
    return this.#past
  }

  get id(): string | undefined {
    return 'raw' in this.content ? undefined : this.content.id
  }

  recordEnds(ended: readonly AttemptRecord[]): void {
    if (ended.length === 0) return
    this.#running -= ended.length
    this.#past = addEnded(this.#past, ended)
  }

  recordStart(): void {
    this.#running++
    this.#past = { ...this.#past, started: this.#past.started + 1 }
  }

  /** Should the process die now, it was perhaps this one that ended the one before. */
  suspect(): void {
    this.#past = { ...this.#past, isSuspected: true }
  }

  /** Nothing came of the attempt that was begun: it counts as if it had not been. */
  takeBackStart(): void {
    if (this.#running <= 0) return
    this.#running--
    this.#past = { ...this.#past, started: this.#past.started - 1 }
  }
}

/** The life of a channel: what arrived in it can only be acknowledged in it. */
export interface Epoch {
  readonly isOpen: boolean
  settled(message: AmqpMessage): void
}

/** Which queue a delivery is of. */
export interface Place {
  readonly broker: string
  readonly channel: string
  readonly queue: string
  readonly stalls: StallReporter
}
