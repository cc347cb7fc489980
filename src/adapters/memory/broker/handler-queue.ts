import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import type { Clock } from '../../../ports/clock.ts'
import { DelayQueue } from './delay-queue.ts'
import { MemoryDelivery, type Message } from './delivery.ts'
import { Deque } from './deque.ts'
import { KeyOrder } from './key-order.ts'

const RESOLVED = Promise.resolve()

/** A consumer of the queue's deliveries. */
interface Subscriber {
  readonly hasRoom: boolean
  handOver(delivery: MemoryDelivery): void
  close(): Promise<void>
}

/**
 * What one handler of a channel still has to do. A message is in one place at a time:
 *
 *   add ──▶ (held behind its key) ──▶ ready ──▶ open ──▶ done, dead
 *                                       ▲         │
 *                                       └ waiting ◀┘ retry, release
 */
export class HandlerQueue {
  /**
   * Letters that no other store keeps, by event id. They are removed when the event is handled after all, or its key is
   * unblocked.
   */
  readonly letters = new Map<string, DeadLetter>()
  readonly ordering: 'none' | 'by-key'
  /** Messages that are neither done nor dead. */
  size = 0
  readonly #channel: string
  readonly #origin: Origin
  readonly #clock: Clock
  /** A new message becomes a delivery only when it is delivered. A returned one is a delivery already, with its counts. */
  readonly #ready = new Deque<Message | MemoryDelivery>()
  readonly #waiting: DelayQueue
  readonly #order: KeyOrder | undefined
  #subscriptions: readonly Subscriber[] = []
  #turn = 0
  #isPumpScheduled = false

  constructor(channel: string, origin: Origin, ordering: 'none' | 'by-key', clock: Clock) {
    this.#channel = channel
    this.#origin = origin
    this.ordering = ordering
    this.#clock = clock
    this.#waiting = new DelayQueue(clock, delivery => this.#makeReady(delivery))
    if (ordering === 'by-key') this.#order = new KeyOrder(event => this.#makeReady(event))
  }

  get subscriptions(): readonly Subscriber[] {
    return this.#subscriptions
  }

  add(message: Message): void {
    this.size++
    if (this.#order !== undefined && 'id' in message) this.#order.arrived(message)
    else this.#makeReady(message)
  }

  /**
   * Delivers the message again at its time, behind the ready messages, so that an event that fails at once does not block
   * others.
   */
  putBack(delivery: MemoryDelivery, notBefore: number): void {
    if (notBefore > this.#clock.now()) this.#waiting.add(delivery, notBefore)
    else this.#makeReady(delivery)
    // In both cases the delivery no longer occupies the prefetch of its subscription.
    this.pumpSoon()
  }

  /** Puts the delivery back to the head of the queue, as if it had not been delivered. */
  giveBack(delivery: MemoryDelivery): void {
    this.#ready.unshift(delivery)
    this.pumpSoon()
  }

  done({ event }: MemoryDelivery): void {
    this.size--
    if (event !== undefined) {
      if (this.letters.size > 0) this.letters.delete(event.id)
      this.#order?.done(event)
    }
    this.pumpSoon()
  }

  died({ event }: MemoryDelivery, letter: DeadLetter | undefined): void {
    this.size--
    if (letter !== undefined) {
      const { id } = letter.event
      this.letters.set(id, mergeLetter(this.letters.get(id), letter))
    }
    if (event !== undefined) this.#order?.died(event)
    this.pumpSoon()
  }

  unblockKey(eventId: string): void {
    this.letters.delete(eventId)
    this.#order?.unblock(eventId)
  }

  join(subscription: Subscriber): void {
    this.#subscriptions = [...this.#subscriptions, subscription]
  }

  leave(subscription: Subscriber): void {
    this.#subscriptions = this.#subscriptions.filter(other => other !== subscription)
  }

  close(): void {
    this.#waiting.close()
  }

  /**
   * Many calls, one round: deliveries are delivered in a separate turn, so that a publish or settle never runs another
   * consumer's handler, and a whole batch of settlements costs one promise.
   */
  pumpSoon(): void {
    if (this.#isPumpScheduled || this.#subscriptions.length === 0) return
    this.#isPumpScheduled = true
    void RESOLVED.then(() => this.#pump())
  }

  #makeReady(message: Message | MemoryDelivery): void {
    this.#ready.push(message)
    this.pumpSoon()
  }

  #pump(): void {
    this.#isPumpScheduled = false
    while (this.#ready.size > 0) {
      const subscription = this.#nextWithRoom()
      if (subscription === undefined) return
      const message = this.#ready.shift()!
      subscription.handOver(
        message instanceof MemoryDelivery
          ? message
          : new MemoryDelivery(this.#channel, message, this.#origin),
      )
    }
  }

  /** The subscriptions take turns, so that they share the work evenly. */
  #nextWithRoom(): Subscriber | undefined {
    const all = this.#subscriptions
    for (let tried = 0; tried < all.length; tried++) {
      const subscription = all[this.#turn++ % all.length]!
      if (subscription.hasRoom) return subscription
    }
    return undefined
  }
}
