import { expect, it } from 'vitest'
import { HeaderReader } from '../../connection/header-reader.ts'
import { toStreamMessage } from './message.ts'

/** Reads a message without headers. */
function read(reply: string) {
  const message = { subject: 'orders.new', reply, data: new Uint8Array() }
  return toStreamMessage(message, new HeaderReader())
}

it.each([
  ['$JS.ACK.ORDERS.bill.1.9.7.1794985077768999999.0', 1_794_985_077_768],
  ['$JS.ACK.hub.account.ORDERS.bill.1.9.7.1794985077768000000.0.random', 1_794_985_077_768],
])('P2: the time of %s is the whole millisecond, as in the stored message', (reply, storedAt) => {
  expect(read(reply)).toMatchObject({
    stream: 'ORDERS',
    sequence: 9,
    deliverySequence: 7,
    deliveries: 1,
    storedAt,
  })
})

it.each(['', '$JS.ACK.', '$JS.ACK.ORDERS', '$JS.ACK.ORDERS.bill.1.9.7', '_INBOX.1.2.3.4.5.6.7.8.9'])(
  'P2: a message whose reply subject is %j does not come from a consumer',
  reply => {
    expect(read(reply)).toBeUndefined()
  },
)
