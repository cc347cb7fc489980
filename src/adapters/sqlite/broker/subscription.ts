import type { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { PendingWork } from '../../../adapter-kit/pending-work.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../ports/broker.ts'
import type { EventCodec } from '../../../ports/codec.ts'
import { isLetterFault, LETTER_FAULT_DELAY_MS } from '../../../ports/dead-letters.ts'
import type { Connection } from '../connection/connection.ts'
import type { DeliveryRow } from '../connection/messages.ts'
import { SqliteDelivery } from './delivery.ts'
import type { Settler } from './settler.ts'

interface SubscriptionParts {
  readonly broker: string
  readonly channel: string
  readonly connection: Connection
  readonly settler: Settler
  readonly codec: EventCodec
  readonly deliver: (delivery: Delivery) => void
  readonly stalls: StallReporter
  readonly onClosed: () => void
}

/** One of the consumers that share the work of a handler. */
export class SqliteSubscription implements Subscription {
  readonly #parts: SubscriptionParts
  readonly #open = new Set<SqliteDelivery>()
  readonly #settling = new PendingWork()
  /** The number of the subscription in the writing thread. */
  #id = 0
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  #closing: Promise<void> | undefined

  constructor(parts: SubscriptionParts) {
    this.#parts = parts
  }

  /** The subscriber has its subscription now, so that deliveries can start. */
  start(): void {
    if (this.#mode === 'starting') this.resume()
  }

  /** The thread knows it by this number now. Deliveries of a thread before that died are lost. */
  enter(id: number): void {
    this.#id = id
    this.#open.clear()
    this.#parts.connection.onDelivery(id, row => this.#take(row))
    if (this.#mode === 'running') this.#setFlow(true)
  }

  stalled(error: Error): void {
    this.#parts.stalls.stalled('deliveries', this, error)
  }

  recovered(): void {
    this.#parts.stalls.recovered('deliveries')
  }

  async begin(delivery: Delivery, ended: readonly AttemptRecord[]): Promise<void> {
    if (!this.#holds(delivery)) throw this.#lost()
    try {
      if (await this.#parts.settler.begin(delivery, ended)) return
    } catch (error) {
      // The consumer forgets the delivery now; if it stayed open, no consumer would get it while this process lives.
      if (this.#open.delete(delivery)) await this.#parts.settler.giveBack([delivery.at])
      throw error
    }
    this.#open.delete(delivery)
    throw this.#lost()
  }

  async settle(delivery: Delivery, settlement: Settlement): Promise<void> {
    if (!this.#holds(delivery)) throw this.#lost()
    this.#open.delete(delivery)
    const { settler, stalls } = this.#parts
    this.#settling.begin()
    try {
      if (!(await settler.settle(delivery, settlement, error => stalls.unreadable(error)))) throw this.#lost()
    } catch (error) {
      if (isLetterFault(error)) await settler.giveBackLater(delivery, LETTER_FAULT_DELAY_MS)
      else if (!(error instanceof DeliveryLostError)) await settler.giveBack([delivery.at])
      throw error
    } finally {
      this.#settling.end()
    }
  }

  pause(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'paused'
    this.#setFlow(false)
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.#setFlow(true)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { connection, settler, onClosed } = this.#parts
    this.#mode = 'closed'
    await this.#settling.settled()
    await connection.write('subscriptions', 'close', this.#id).catch(() => {})
    connection.offDelivery(this.#id)
    const open = Array.from(this.#open, ({ at }) => at)
    this.#open.clear()
    await settler.giveBack(open)
    onClosed()
  }

  /** Receives a delivery from the thread. A delivery that arrives during closing is released with the others. */
  #take(row: DeliveryRow): void {
    const { broker, channel, codec, deliver } = this.#parts
    const delivery = new SqliteDelivery({ broker, queue: channel }, channel, row, codec)
    this.#open.add(delivery)
    if (this.#mode !== 'closed') deliver(delivery)
  }

  #setFlow(isOn: boolean): void {
    this.#parts.connection.write('subscriptions', 'setFlow', this.#id, isOn).catch(() => {})
  }

  #holds(delivery: Delivery): delivery is SqliteDelivery {
    return delivery instanceof SqliteDelivery && this.#open.has(delivery)
  }

  #lost(): DeliveryLostError {
    return new DeliveryLostError(this.#parts.broker, this.#parts.channel)
  }
}
