/** The payload of every candidate: an order of about 200 bytes. The receiver counts by its first field name. */
export const MARKER = 'orderId'

export const TYPE = 'order.placed'

export function payloadOf(order: number) {
  return {
    orderId: order,
    customer: 'c-20931',
    total: 129.9,
    currency: 'EUR',
    items: 3,
    country: 'DE',
    channel: 'web',
    note: 'leave it with the neighbours, please',
  }
}
