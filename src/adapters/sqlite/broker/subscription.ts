import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../ports/broker.ts'
import type { OpenDelivery } from '../connection/calls.ts'
import type { DeliveryRow } from '../connection/connection.ts'
import { SqliteDelivery } from './delivery.ts'

/** What a subscription needs of its broker. */
export interface Counter {
  read(channel: string, row: DeliveryRow): SqliteDelivery
  begin(delivery: SqliteDelivery, ended: readonly AttemptRecord[]): Promise<boolean>
  settle(delivery: SqliteDelivery, settlement: Settlement): Promise<boolean>
  /** Never rejects: what the database does not take now, it is given later. */
  giveBack(deliveries: readonly OpenDelivery[]): Promise<void>
  setFlow(subscription: number, isOn: boolean): void
  unsubscribe(subscription: number): Promise<void>
  left(subscription: SqliteSubscription): void
  lost(channel: string): DeliveryLostError
}

/** One of the consumers that share the work of a handler. */
export class SqliteSubscription implements Subscription {
  #id: number
  readonly #channel: string
  readonly #counter: Counter
  readonly #deliver: (delivery: Delivery) => void
  readonly #open = new Set<SqliteDelivery>()
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  #closing: Promise<void> | undefined
  #underWay = 0
  #onAllSettled: (() => void) | undefined

  constructor(id: number, channel: string, counter: Counter, deliver: (delivery: Delivery) => void) {
    this.#id = id
    this.#channel = channel
    this.#counter = counter
    this.#deliver = deliver
  }

  /** The subscriber knows of its subscription now, so that deliveries may come. */
  start(): void {
    if (this.#mode === 'starting') this.resume()
  }

  /** Its thread died, and with it what was open; another has taken its place. */
  moveTo(id: number): void {
    this.#id = id
    this.#open.clear()
    if (this.#mode === 'running') this.#counter.setFlow(id, true)
  }

  /** From the thread. What still comes while closing is given back with the rest. */
  take(row: DeliveryRow): void {
    const delivery = this.#counter.read(this.#channel, row)
    this.#open.add(delivery)
    if (this.#mode !== 'closed') this.#deliver(delivery)
  }

  async begin(delivery: Delivery, ended: readonly AttemptRecord[]): Promise<void> {
    if (!this.#holds(delivery)) throw this.#counter.lost(this.#channel)
    try {
      if (await this.#counter.begin(delivery, ended)) return
    } catch (error) {
      // Whoever wanted to begin it forgets it now; kept open, it would come to nobody as long as this process lives.
      if (this.#open.delete(delivery)) await this.#counter.giveBack([delivery.at])
      throw error
    }
    this.#open.delete(delivery)
    throw this.#counter.lost(this.#channel)
  }

  settle(delivery: Delivery, settlement: Settlement): Promise<void> {
    if (!this.#holds(delivery)) return Promise.reject(this.#counter.lost(this.#channel))
    this.#open.delete(delivery)
    return this.#settle(delivery, settlement)
  }

  pause(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'paused'
    this.#counter.setFlow(this.#id, false)
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.#counter.setFlow(this.#id, true)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #settle(delivery: SqliteDelivery, settlement: Settlement): Promise<void> {
    this.#underWay++
    try {
      if (!(await this.#counter.settle(delivery, settlement))) throw this.#counter.lost(this.#channel)
    } catch (error) {
      if (!(error instanceof DeliveryLostError)) await this.#counter.giveBack([delivery.at])
      throw error
    } finally {
      if (--this.#underWay === 0) this.#onAllSettled?.()
    }
  }

  async #close(): Promise<void> {
    this.#mode = 'closed'
    if (this.#underWay > 0) await new Promise<void>(resolve => (this.#onAllSettled = resolve))
    await this.#counter.unsubscribe(this.#id)
    const open = Array.from(this.#open, ({ at }) => at)
    this.#open.clear()
    await this.#counter.giveBack(open)
    this.#counter.left(this)
  }

  #holds(delivery: Delivery): delivery is SqliteDelivery {
    return delivery instanceof SqliteDelivery && this.#open.has(delivery)
  }
}
