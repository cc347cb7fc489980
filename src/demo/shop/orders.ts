import { exponential } from '../../core/retry/exponential.ts'
import type { Broker } from '../../ports/broker.ts'
import type { ShopHandler } from '../relocate-stacks.ts'
import { OrderPlaced } from './contracts.ts'
import { derivedId, followUps } from './follow-ups.ts'
import type { Track } from './tracking/track.ts'

/** Splits an order into a payment, an e-mail and a parcel, each in its own channel. */
export function orders(broker: Pick<Broker, 'publish'>, track: Track): ShopHandler<OrderPlaced> {
  return {
    channel: 'orders',
    name: 'place-order',
    release: '5.1.0',
    // An order that does not match the schema becomes a dead letter without any attempt.
    schema: OrderPlaced,
    retry: { attempts: 3, backoff: exponential({ baseMs: 400, maxMs: 10_000 }) },
    // An order that fails in the same way at every attempt is poison, and its letter is quarantined.
    poison: { repeats: 3, windowMs: 60_000 },
    async handle(order) {
      requireSlot(order.payload)
      await broker.publish(followUps(order))
      const { order: number, total, currency } = order.payload
      const payload = { order: number, total, currency }
      track({ type: 'order.placed', id: derivedId(order.id, 'placed'), payload })
    },
  }
}

/** Throws for a date that does not exist. The schema accepts any text here. */
function requireSlot({ deliverBy }: OrderPlaced): string {
  return new Date(deliverBy).toISOString().slice(0, 10)
}
