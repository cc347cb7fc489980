import { exponential } from '../../core/retry/exponential.ts'
import type { Broker } from '../../ports/broker.ts'
import type { ShopHandler } from '../relocate-stacks.ts'
import { OrderPlaced } from './contracts.ts'
import { derivedId, followUps } from './follow-ups.ts'
import type { Track } from './tracking/track.ts'

/** Takes an order apart: the money, the e-mail and the parcel go their own ways from here. */
export function orders(broker: Pick<Broker, 'publish'>, track: Track): ShopHandler<OrderPlaced> {
  return {
    channel: 'orders',
    name: 'place-order',
    release: '5.1.0',
    // What a partner sends in another shape becomes a dead letter at once, and no attempt is wasted on it.
    schema: OrderPlaced,
    retry: { attempts: 5, backoff: exponential({ baseMs: 400, maxMs: 10_000 }) },
    // An order that fails three times in the same way is to blame itself: it is quarantined.
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

/** The schema lets any text pass for a date. The calendar does not. */
function requireSlot({ deliverBy }: OrderPlaced): string {
  return new Date(deliverBy).toISOString().slice(0, 10)
}
