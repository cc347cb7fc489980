import { createEvent, type LazaretEvent } from '../../core/event/event.ts'
import { hash128 } from '../../core/hash.ts'
import type {
  Channel,
  EmailRequested,
  OrderPlaced,
  PaymentRequested,
  ShipmentRequested,
} from './contracts.ts'

type Order = LazaretEvent<OrderPlaced>

/** The events that an order causes in the other channels. */
export function followUps(order: Order): readonly LazaretEvent[] {
  const { order: number, total, currency, customer, paidWith, items, address, deliverBy } = order.payload
  const payment: PaymentRequested = { order: number, amount: total, currency, customer, paidWith }
  const shipment: ShipmentRequested = { order: number, items, address, deliverBy }
  const email: EmailRequested = {
    order: number,
    template: 'order-confirmed',
    to: customer.email,
    name: customer.name,
    subject: `Your order ${number}`,
  }
  return [
    derive(order, 'payments', 'payment.requested', payment),
    derive(order, 'emails', 'email.requested', email),
    derive(order, 'warehouse', 'shipment.requested', shipment),
  ]
}

/**
 * Derives an id from the id of another event and keeps its time. A handler that runs twice publishes the same id twice, so
 * consumers recognise the duplicate.
 */
export function derivedId(id: string, what: string): string {
  const hash = hash128(`${id.slice(14)} ${what}`)
  return `${id.slice(0, 14)}7${hash.slice(0, 3)}-a${hash.slice(3, 6)}-${hash.slice(6, 18)}`
}

function derive<P>(order: Order, channel: Channel, type: string, payload: P): LazaretEvent<P> {
  const { id, key, occurredAt, headers } = order
  const own = derivedId(id, channel)
  return createEvent(
    { type, channel, payload, id: own, key, occurredAt, headers, source: '/shop/orders' },
    { now: occurredAt, newId: () => own },
  )
}
