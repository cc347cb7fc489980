import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type SubscribeOptions,
  type Subscription,
} from '../../../ports/broker.ts'
import type { MemoryDelivery } from './delivery.ts'
import type { HandlerQueue } from './handler-queue.ts'

/** One of the consumers that share the work of a handler. Every method completes synchronously. */
export class MemorySubscription implements Subscription {
  readonly #queue: HandlerQueue
  readonly #prefetch: number
  readonly #deliver: (delivery: Delivery) => void
  readonly #broker: string
  readonly #open = new OpenList()
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'

  constructor(
    broker: string,
    queue: HandlerQueue,
    { prefetch }: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
  ) {
    this.#broker = broker
    this.#queue = queue
    this.#prefetch = prefetch
    this.#deliver = deliver
  }

  get hasRoom(): boolean {
    return this.#mode === 'running' && this.#open.size < this.#prefetch
  }

  /** The subscriber has its subscription, so deliveries can start. */
  start(): void {
    if (this.#mode === 'starting') this.resume()
  }

  handOver(delivery: MemoryDelivery): void {
    delivery.holder = this
    this.#open.push(delivery)
    this.#deliver(delivery)
  }

  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    if (!this.#holds(delivery)) return this.#lost(delivery)
    delivery.recordEnds(ended)
    delivery.recordStart()
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    if (!this.#holds(delivery)) return this.#lost(delivery)
    this.#forget(delivery)
    switch (settlement.outcome) {
      case 'done':
        this.#queue.done(delivery)
        break
      case 'retry':
        delivery.recordEnds(settlement.ended)
        this.#queue.putBack(delivery.nextDelivery(), settlement.notBefore)
        break
      case 'release':
        delivery.takeBackStart()
        this.#queue.putBack(delivery.nextDelivery(), settlement.notBefore)
        break
      case 'dead':
        this.#queue.died(delivery, settlement.saved ? undefined : settlement.letter)
    }
  }

  pause(): void {
    if (this.#mode !== 'closed') this.#mode = 'paused'
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.#queue.pumpSoon()
  }

  async close(): Promise<void> {
    if (this.#mode === 'closed') return
    this.#mode = 'closed'
    this.#queue.leave(this)
    // Puts the deliveries back from the last to the first, so that their order stays.
    for (let open = this.#open.last; open !== undefined; open = this.#open.last) {
      this.#forget(open)
      this.#queue.giveBack(open.nextDelivery())
    }
  }

  #holds(delivery: Delivery): delivery is MemoryDelivery {
    return (delivery as MemoryDelivery).holder === this
  }

  #forget(delivery: MemoryDelivery): void {
    delivery.holder = undefined
    this.#open.remove(delivery)
  }

  #lost(delivery: Delivery): Promise<void> {
    return Promise.reject(new DeliveryLostError(this.#broker, delivery.channel))
  }
}

/** The open deliveries of a subscription, in the order of delivery. Removing one changes only a few pointers. */
class OpenList {
  last: MemoryDelivery | undefined
  size = 0

  push(delivery: MemoryDelivery): void {
    delivery.previous = this.last
    if (this.last !== undefined) this.last.next = delivery
    this.last = delivery
    this.size++
  }

  /** The delivery must be in this list. */
  remove(delivery: MemoryDelivery): void {
    const { previous, next } = delivery
    if (previous !== undefined) previous.next = next
    if (next === undefined) this.last = previous
    else next.previous = previous
    delivery.previous = undefined
    delivery.next = undefined
    this.size--
  }
}
