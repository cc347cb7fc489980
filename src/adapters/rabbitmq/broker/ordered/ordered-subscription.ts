import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../../ports/broker.ts'
import { type Cancel, type Clock, nextTurn, within } from '../../../../ports/clock.ts'
import { CLOSE_MS } from '../../connection/waiting.ts'
import type { RabbitmqDelivery } from '../consume/delivery.ts'
import type { Settler } from '../consume/settler.ts'
import type { Holder } from './holder.ts'
import { type Keeper, REFRESH_MS } from './keeper.ts'
import type { LineKeeping } from './line-keeping.ts'
import type { Entry } from './lines.ts'

const DRAIN_MS = 300

interface Parts {
  readonly name: string
  readonly clock: Clock
  readonly queue: string
  readonly keeping: LineKeeping
  readonly keeper: Keeper
  readonly holder: Holder
  readonly settler: Settler
}

/** Events of a key one at a time and in their order. What is first and cannot be handled now holds the others. */
export class OrderedSubscription implements Subscription {
  readonly #parts: Parts
  readonly #forget: (subscription: OrderedSubscription) => void
  readonly #work = new Set<Promise<unknown>>()
  #stopRenewing: Cancel = () => {}
  #closing: Promise<void> | undefined

  constructor(parts: Parts, forget: (subscription: OrderedSubscription) => void) {
    this.#parts = parts
    this.#forget = forget
  }

  /** The subscriber knows of its subscription in the next turn. */
  start(): void {
    this.#renewLater()
    void nextTurn().then(() => this.#parts.keeping.run())
  }

  /** One that came back unsettled has its start written down first: it may take this process down as well. */
  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    const entry = this.#parts.keeping.entryOf(delivery)
    if (entry === undefined) return this.#lost(delivery)
    const own = delivery as RabbitmqDelivery
    own.recordEnds(ended)
    const isFirstSuspicion = own.past.started === own.past.ended
    own.recordStart()
    if (!entry.isStray) return
    if (isFirstSuspicion) own.suspect()
    return this.#durably(own, this.#parts.holder.hold(own, entry, 0))
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    const { keeping } = this.#parts
    const entry = keeping.entryOf(delivery)
    if (entry === undefined) return this.#lost(delivery)
    keeping.leave(delivery)
    const own = delivery as RabbitmqDelivery
    if (settlement.outcome === 'done') keeping.finish(entry)
    else if (settlement.outcome === 'dead') return this.#durably(own, this.#bury(own, entry, settlement))
    else {
      if (settlement.outcome === 'retry') own.recordEnds(settlement.ended)
      else own.takeBackStart()
      entry.state = 'waiting'
      entry.delivery = undefined
      const waitMs = settlement.notBefore - this.#parts.clock.now()
      return this.#durably(own, this.#parts.holder.hold(own, entry, waitMs))
    }
  }

  pause(): void {
    this.#parts.keeping.pause()
  }

  resume(): void {
    this.#parts.keeping.run()
  }

  /** The server takes back what is open, in its order. */
  close(): Promise<void> {
    this.#closing ??= this.#close().finally(() => this.#forget(this))
    return this.#closing
  }

  async #close(): Promise<void> {
    const { keeping, keeper, clock } = this.#parts
    this.#stopRenewing()
    keeping.close()
    await within(clock, CLOSE_MS, Promise.allSettled(this.#work))
    await keeper.close(DRAIN_MS)
  }

  async #bury(
    delivery: RabbitmqDelivery,
    entry: Entry,
    { letter, saved }: Extract<Settlement, { outcome: 'dead' }>,
  ): Promise<boolean> {
    const { settler, holder, keeping, queue } = this.#parts
    if (!saved && !(await settler.keepLetter(delivery, queue, letter))) return false
    const hasKey = !('raw' in delivery.content) && delivery.content.key !== undefined
    if (!hasKey) {
      keeping.finish(entry)
      return true
    }
    entry.state = 'dead'
    entry.delivery = undefined
    return await holder.mark(delivery, entry)
  }

  async #durably(delivery: RabbitmqDelivery, work: Promise<boolean>): Promise<void> {
    this.#work.add(work)
    try {
      if (!(await work)) await this.#lost(delivery)
    } finally {
      this.#work.delete(work)
    }
  }

  #renewLater(): void {
    this.#stopRenewing = this.#parts.clock.schedule(REFRESH_MS, () => {
      this.#parts.keeping.renew()
      this.#renewLater()
    })
  }

  #lost(delivery: Delivery): Promise<void> {
    return Promise.reject(new DeliveryLostError(this.#parts.name, delivery.channel))
  }
}
