import { type Clock, monotonicNow } from '../../../../ports/clock.ts'
import type { Publisher } from '../../connection/publisher.ts'
import type { RabbitmqDelivery } from '../consume/delivery.ts'
import type { Settler } from '../consume/settler.ts'
import { heldQueue } from '../topology/names.ts'
import { OWN } from '../wire/headers.ts'
import { withPast } from '../wire/state.ts'
import type { Entry } from './lines.ts'

/** Writes down what is first of its key and cannot be handled now, in the queue of those that are held. */
export class Holder {
  readonly #publisher: Publisher
  readonly #settler: Settler
  readonly #queue: string
  readonly #clock: Clock

  constructor(publisher: Publisher, settler: Settler, queue: string, clock: Clock) {
    this.#publisher = publisher
    this.#settler = settler
    this.#queue = queue
    this.#clock = clock
  }

  /** With its past, its place and how long it waits. */
  hold(delivery: RabbitmqDelivery, { place }: Entry, waitMs: number): Promise<boolean> {
    const { message, origin, past } = delivery
    const dueAt = monotonicNow(this.#clock) + waitMs
    return this.#settler.persist(delivery, 'settlements', () => {
      const restMs = Math.ceil(dueAt - monotonicNow(this.#clock))
      const wait = restMs > 0 ? { waitMs: restMs, notBefore: this.#clock.now() + restMs } : undefined
      const properties = withPast(message, origin, past, wait)
      const headers = { ...properties.headers, [OWN.place]: place }
      return this.#send(message.content, { ...properties, headers })
    })
  }

  /** That it is dead and holds its key. */
  mark(delivery: RabbitmqDelivery, { place, key, id }: Entry): Promise<boolean> {
    const headers = { [OWN.place]: place, [OWN.key]: key, [OWN.deadEvent]: id }
    return this.#settler.persist(delivery, 'settlements', () =>
      this.#send(Buffer.alloc(0), { headers, deliveryMode: 2 }),
    )
  }

  /** The same again: it is held for longer than the server allows. */
  async renew({ message }: Entry): Promise<void> {
    if (message !== undefined) await this.#send(message.content, { ...message.properties, deliveryMode: 2 })
  }

  #send(content: Buffer, properties: object): Promise<void> {
    const route = { exchange: '', routingKey: heldQueue(this.#queue) }
    return this.#publisher.sendOne({ route, content, properties })
  }
}
