import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import type { Delivery, Settlement, Subscription } from '../../../../ports/broker.ts'
import { yieldToEventLoop } from '../../../../ports/clock.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { NatsDelivery } from '../consume/entry.ts'
import { rejectLost } from '../consume/lost-delivery.ts'
import { KeyOrder } from './key-order.ts'
import { OwnerLease } from './owner-lease.ts'

/**
 * A subscription that delivers the events of a key one at a time and in their order. Of all subscriptions of the handler
 * one keeps the order; the others stand by.
 */
export class OrderedSubscription implements Subscription {
  readonly #context: SubscriptionContext
  readonly #lease: OwnerLease
  /** Undefined while another keeps the order. */
  #order: KeyOrder | undefined
  #opening: Promise<void> | undefined
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  #closing: Promise<void> | undefined

  constructor(context: SubscriptionContext) {
    this.#context = context
    this.#lease = new OwnerLease(context, {
      own: isAfterCrash => this.#own(isAfterCrash),
      renewedLate: () => this.#order?.pump(),
      lose: () => this.#lose(),
    })
  }

  async open(): Promise<void> {
    await this.#lease.open()
    await this.#opening
  }

  /** The subscriber knows of its subscription in the next turn. */
  start(): void {
    void yieldToEventLoop().then(() => {
      if (this.#mode === 'starting') this.resume()
    })
  }

  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    if (!this.#holds(delivery)) return rejectLost(this.#context, delivery)
    return this.#unlessLost(delivery, this.#order!.begin(delivery, ended))
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    if (!this.#holds(delivery)) return rejectLost(this.#context, delivery)
    return this.#unlessLost(delivery, this.#order!.settle(delivery, settlement))
  }

  pause(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'paused'
    this.#order?.pause()
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.#order?.resume()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close().finally(this.#context.forget)
    return this.#closing
  }

  /** The order is given back before another can take it over. */
  async #close(): Promise<void> {
    this.#mode = 'closed'
    const order = this.#order
    await order?.close()
    this.#order = undefined
    await this.#lease.close()
  }

  #own(isAfterCrash: boolean): void {
    if (this.#mode === 'closed') return
    const order = new KeyOrder(this.#context, isAfterCrash, () => this.#lease.isHeld)
    this.#order = order
    this.#opening = order.open().then(() => {
      if (this.#mode === 'running') order.resume()
    })
  }

  #lose(): void {
    this.#order?.abandon()
    this.#order = undefined
  }

  #holds(delivery: Delivery): delivery is NatsDelivery {
    return delivery instanceof NatsDelivery && this.#order?.holds(delivery) === true
  }

  #unlessLost(delivery: Delivery, work: Promise<boolean> | undefined): void | Promise<void> {
    if (work === undefined) return
    return work.then(isDurable => (isDurable ? undefined : rejectLost(this.#context, delivery)))
  }
}
