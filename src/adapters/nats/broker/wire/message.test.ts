import { expect, it } from 'vitest'
import { HeaderReader } from '../../connection/header-reader.ts'
import { toStreamMessage } from './message.ts'

it.each([
  ['$JS.ACK.ORDERS.bill.1.9.7.1794985077768999999.0', 1_794_985_077_768],
  ['$JS.ACK.hub.account.ORDERS.bill.1.9.7.1794985077768000000.0.random', 1_794_985_077_768],
])('P2: the time of %s is the whole millisecond, as in the stored message', (reply, storedAt) => {
  const message = { subject: 'orders.new', reply, data: new Uint8Array(), headers: undefined }
  expect(toStreamMessage(message as Parameters<typeof toStreamMessage>[0], new HeaderReader())).toMatchObject(
    {
      stream: 'ORDERS',
      sequence: 9,
      storedAt,
    },
  )
})
