import { type Cancel, equalJitter, monotonicNow } from '../../../../ports/clock.ts'
import type { ConsumerInfo } from '../../connection/jetstream.ts'
import { EventsMissingError } from '../../errors.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { Entry } from '../consume/entry.ts'
import { deliverySequenceOf, type StreamMessage, streamSequenceOf } from '../wire/message.ts'

interface CompletenessListener {
  /** The events that are here. */
  readonly entries: () => Iterable<Entry>
  /** The consumer is about to be made again, and then delivers everything again that is not settled. */
  readonly isRemaking: () => boolean
  /** Everything is here, or more may be asked for. */
  readonly changed: () => void
}

const FIRST_LOOK_MS = 20
const MAX_LOOK_MS = 1_000
/** How many events each look asks for although there is no room. */
const SEARCH_BATCH = 100
/** After so many without success, each look asks for one. That is enough, because the server delivers lost events before new ones. */
const MAX_SEARCHED = 1_000
/** Events of a dead consumer come when its time is over. Only after that is something wrong. */
const REPORTED_AFTER_WAITS = 2

/**
 * Knows whether every event that the server has handed out and that is not settled is here. If one is elsewhere, such as with a
 * consumer that has crashed, a later event of its key must not be delivered before it. The server delivers such an event
 * again when its time is over.
 *
 * The server numbers its deliveries. A number that is missing here went to somebody else, or was lost on its way. A consumer that was
 * made again begins before the events that are here from the old one, and can have others to deliver first.
 */
export class Completeness {
  readonly #context: SubscriptionContext
  readonly #listener: CompletenessListener
  #isComplete = false
  #since = 0
  #search = 0
  /** How many new events the search has brought. */
  #searched = 0
  #lastDelivery = 0
  /** How many times a number was missing. */
  #gaps = 0
  #cancel: Cancel = () => {}
  #isClosed = false

  constructor(context: SubscriptionContext, listener: CompletenessListener) {
    this.#context = context
    this.#listener = listener
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  /** How many events may come although there is no room. The server delivers what is missing before anything new. */
  get searchRoom(): number {
    return this.#isComplete ? 0 : this.#search
  }

  start(): void {
    this.#since = this.#now()
    this.#lookLater(0)
  }

  received({ deliverySequence, deliveries }: StreamMessage): void {
    if (deliveries === 1 && this.#search > 0) {
      this.#search--
      this.#searched++
    }
    // The numbers go back to 1 when the consumer was deleted and made again.
    const isNext = deliverySequence === this.#lastDelivery + 1
    this.#lastDelivery = deliverySequence
    if (isNext) return
    this.#gaps++
    this.doubt()
  }

  /** Something may be elsewhere. */
  doubt(): void {
    if (!this.#isComplete) return
    this.#isComplete = false
    this.#searched = 0
    this.#since = this.#now()
    this.#lookLater(FIRST_LOOK_MS)
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
    this.#context.stalls.ended('deliveries', this)
  }

  #now(): number {
    return monotonicNow(this.#context.settings.clock)
  }

  #lookLater(waitMs: number): void {
    const { clock, random } = this.#context.settings
    const nextMs = Math.min(MAX_LOOK_MS, Math.max(FIRST_LOOK_MS, waitMs * 2))
    this.#cancel = clock.schedule(equalJitter(random, waitMs), () => void this.#look(nextMs))
  }

  async #look(nextMs: number): Promise<void> {
    const { jetstream, names, stalls, ackWaitMs } = this.#context
    const { consumer, streams } = names
    const gaps = this.#gaps
    const highest = this.#highestSequence()
    const info = await jetstream.consumerInfo(streams.events, consumer).catch(() => undefined)
    if (this.#isClosed) return
    const missing = info === undefined ? Number.NaN : this.#missing(info)
    const isBehind = this.#listener.isRemaking() || (info?.delivered.stream_seq ?? 0) < highest
    // An answer that is older than a gap says nothing about what is missing there.
    if (info !== undefined && missing <= 0 && !isBehind && gaps === this.#gaps) {
      this.#lastDelivery = Math.max(this.#lastDelivery, info.delivered.consumer_seq)
      this.#isComplete = true
      stalls.ended('deliveries', this)
    } else {
      if (missing > 0 && this.#now() - this.#since > REPORTED_AFTER_WAITS * ackWaitMs)
        stalls.stalled('deliveries', this, new EventsMissingError(consumer, streams.events, missing))
      this.#search = this.#searched < MAX_SEARCHED ? SEARCH_BATCH : 1
      this.#lookLater(nextMs)
    }
    this.#listener.changed()
  }

  /** The highest sequence of the events that are here. */
  #highestSequence(): number {
    let highest = 0
    for (const { source, ackSubject } of this.#listener.entries())
      if (source === 'events' && ackSubject !== undefined)
        highest = Math.max(highest, streamSequenceOf(ackSubject))
    return highest
  }

  /** Events that came after the server had counted do not make up for others that it counted. */
  #missing({ num_ack_pending, delivered }: ConsumerInfo): number {
    let missing = num_ack_pending
    for (const { source, ackSubject } of this.#listener.entries())
      if (source === 'events' && ackSubject !== undefined)
        if (deliverySequenceOf(ackSubject) <= delivered.consumer_seq) missing--
    return missing
  }
}
