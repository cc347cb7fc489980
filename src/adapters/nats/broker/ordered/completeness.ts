import { type Cancel, equalJitter } from '../../../../ports/clock.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { StreamMessage } from '../wire/message.ts'

const FIRST_LOOK_MS = 20
const MAX_LOOK_MS = 1_000

/**
 * Knows whether every event that the server has handed out and that is not settled is here. If one is elsewhere, such as with a
 * consumer that has crashed, a later event of its key must not be delivered before it. The server delivers such an event
 * again when its time is over.
 *
 * The server numbers its deliveries. A number that is missing here went to somebody else, or was lost on its way.
 */
export class Completeness {
  readonly #context: SubscriptionContext
  /** How many events are here and not settled. */
  readonly #count: () => number
  readonly #changed: () => void
  #isComplete = false
  #lastDelivery = 0
  #cancel: Cancel = () => {}
  #isClosed = false

  constructor(context: SubscriptionContext, count: () => number, changed: () => void) {
    this.#context = context
    this.#count = count
    this.#changed = changed
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  start(): void {
    this.#lookLater(0)
  }

  received({ deliverySequence }: StreamMessage): void {
    const isGap = deliverySequence > this.#lastDelivery + 1
    this.#lastDelivery = Math.max(this.#lastDelivery, deliverySequence)
    if (isGap && this.#isComplete) this.doubt()
  }

  /** Something may be elsewhere. */
  doubt(): void {
    if (!this.#isComplete) return
    this.#isComplete = false
    this.#lookLater(FIRST_LOOK_MS)
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }

  #lookLater(waitMs: number): void {
    const { clock, random } = this.#context.settings
    const nextMs = Math.min(MAX_LOOK_MS, Math.max(FIRST_LOOK_MS, waitMs * 2))
    this.#cancel = clock.schedule(equalJitter(random, waitMs), () => void this.#look(nextMs))
  }

  async #look(nextMs: number): Promise<void> {
    const { jetstream, names } = this.#context
    const info = await jetstream.consumerInfo(names.streams.events, names.consumer).catch(() => undefined)
    if (this.#isClosed) return
    if (info === undefined || info.num_ack_pending > this.#count()) {
      this.#lookLater(nextMs)
      return
    }
    this.#lastDelivery = Math.max(this.#lastDelivery, info.delivered.consumer_seq)
    this.#isComplete = true
    this.#changed()
  }
}
