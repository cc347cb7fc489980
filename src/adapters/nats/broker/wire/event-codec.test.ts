import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFactory } from '../../../../testing/factories.ts'
import { decodeHeaders, encodeHeaders, type HeaderList, headerText } from '../../connection/headers.ts'
import { decode, encodeEvent } from './event-codec.ts'
import { headersWithLog, readLog } from './message-log.ts'

const make = createFactory()
const origin = { broker: 'nats', stream: 'ORDERS', subject: 'orders.new', offset: 9, timestamp: 5_000 }
const FIRST = { stream: 'ORDERS', sequence: 9, storedAt: 5_000 }
const bytes = (text: string) => Buffer.from(text)

/** A message as it comes from the server. */
function sent({ data, headers }: { readonly data: Uint8Array; readonly headers: HeaderList }) {
  return { subject: 'orders.new', data, headers: decodeHeaders(encodeHeaders(headers)) }
}

it('E9: an event is read back as it was, whatever its headers and its payload are', () => {
  const names = fc.stringMatching(
    /^(?:x-[a-z]{1,8}|ce-[a-z]{1,5}|lazaret-[a-z]{1,5}|Nats-[a-z]{1,5}|content-type)$/,
  )
  const texts = fc
    .string({ unit: 'grapheme', maxLength: 20 })
    .filter(text => text.isWellFormed() && !text.includes('\0'))
  fc.assert(
    fc.property(
      fc.dictionary(names, texts, { maxKeys: 6, noNullPrototype: true }),
      fc.oneof(fc.jsonValue(), fc.uint8Array()),
      fc.option(fc.constantFrom('customer-1', 'žluť 7 %', '"quoted"'), { nil: undefined }),
      (headers, payload, key) => {
        const event = make.event({
          channel: 'orders',
          headers,
          payload: JSON.parse(JSON.stringify({ payload })).payload,
          key,
        })
        expect(decode(sent(encodeEvent(event)), 'not-its-channel', origin)).toEqual(event)
      },
    ),
    { seed: 23, numRuns: 200 },
  )
})

it('E9: programs in other languages read the event as a CloudEvent in binary mode', () => {
  const event = make.event({ channel: 'orders', key: 'a b', source: '/shop', payload: { total: 3 } })
  const { data, headers } = encodeEvent(event)
  const names = ['ce-specversion', 'ce-id', 'ce-source', 'ce-partitionkey', 'content-type']
  expect(names.map(name => headerText(headers, name))).toEqual([
    '1.0',
    event.id,
    '/shop',
    'a%20b',
    'application/json',
  ])
  expect(JSON.parse(Buffer.from(data).toString())).toEqual({ total: 3 })
})

it('P2: a CloudEvent of another program is an event, however it writes the names of headers', () => {
  const headers: HeaderList = [
    ['Ce-Specversion', '1.0'],
    ['Ce-Id', 'a-1'],
    ['Ce-Type', 'order.placed'],
    ['Ce-Source', '/shop'],
    ['Ce-Partitionkey', 'customer%207'],
    ['Content-Type', 'application/json'],
    ['X-Trace', 'kept'],
  ]
  expect(decode(sent({ data: bytes('{"total":3}'), headers }), 'orders', origin)).toMatchObject({
    id: 'a-1',
    type: 'order.placed',
    key: 'customer 7',
    payload: { total: 3 },
    headers: { 'X-Trace': 'kept' },
  })
})

it('P2: the id of a plain message has its time, because the next stream of this name has the same sequences', () => {
  expect(decode(sent({ data: bytes('{"total":3}'), headers: [] }), 'orders', origin)).toMatchObject({
    id: 'ORDERS/9@5000',
    idempotencyKey: 'ORDERS/9@5000',
    type: 'orders.new',
    channel: 'orders',
    occurredAt: 5_000,
    payload: { total: 3 },
  })
})

it('P2: a copy of a plain message has the id of the first one, and not its own sequence and time', () => {
  const { log: attempts } = readLog('nats', sent({ data: bytes('{}'), headers: [] }), FIRST, 0)
  const headers = headersWithLog([], origin, attempts)
  const copy = sent({ data: bytes('{}'), headers })
  const { origin: carried } = readLog('nats', copy, { stream: 'COPIES', sequence: 70, storedAt: 80_000 }, 0)
  expect(decode(copy, 'orders', carried)).toMatchObject({ id: 'ORDERS/9@5000' })
})

it('P2: a message that says it is JSON and is not keeps its bytes', () => {
  const message = sent({ data: bytes('{"no'), headers: [['content-type', 'application/json']] })
  expect(decode(message, 'orders', origin)).toMatchObject({ raw: new Uint8Array(bytes('{"no')) })
})

it('P2: a message that is not an event keeps the headers of its sender, and those of a CloudEvent', () => {
  const attributes = [
    ['ce-specversion', '1.0'],
    ['ce-id', 'a-1'],
    ['ce-type', 't'],
    ['ce-source', '/shop'],
  ] as const
  const given = [...attributes, ['content-type', 'application/json'], ['tenant', 'acme']] as const
  const added = [
    ['lazaret-log', '{}'],
    ['Nats-Msg-Id', '7'],
  ] as const
  const message = sent({ data: bytes('{"no'), headers: [...given, ...added] })
  expect(decode(message, 'orders', origin)).toMatchObject({
    raw: new Uint8Array(bytes('{"no')),
    headers: Object.fromEntries(given),
  })
  expect(decode(message, 'orders', origin)).not.toHaveProperty(['headers', 'Nats-Msg-Id'])
})
