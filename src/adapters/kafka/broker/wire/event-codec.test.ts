import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromAttributes } from '../../../../core/event/cloudevents-binary.ts'
import { createFactory } from '../../../../testing/factories.ts'
import { decode, encodeEvent, eventIdOf } from './event-codec.ts'
import { headerText } from './headers.ts'
import { readLog, withLog } from './record-log.ts'

const make = createFactory()
const origin = { broker: 'kafka', topic: 'orders', partition: 3, offset: 9, timestamp: 5_000 }
const bytes = (text: string) => Buffer.from(text)

it('E9: an event is read back as it was, whatever its headers and its payload are', () => {
  const names = fc.stringMatching(/^(?:x-[a-z]{1,8}|ce_[a-z]{1,5}|lazaret-[a-z]{1,5}|content-type)$/)
  const texts = fc
    .string({ unit: 'grapheme', maxLength: 20 })
    .filter(text => text.isWellFormed() && !text.includes('\0'))
  fc.assert(
    fc.property(
      fc.dictionary(names, texts, { maxKeys: 6, noNullPrototype: true }),
      fc.oneof(fc.jsonValue(), fc.uint8Array()),
      fc.option(fc.constantFrom('customer-1', 'žluť'), { nil: undefined }),
      (headers, payload, key) => {
        const event = make.event({
          channel: 'orders',
          headers,
          payload: JSON.parse(JSON.stringify({ payload })).payload,
          key,
        })
        expect(decode(encodeEvent(event, 'orders'), 'orders', origin)).toEqual(event)
        const elsewhere = encodeEvent(event, 'other-topic')
        expect(decode(elsewhere, 'not-its-channel', origin)).toEqual(event)
      },
    ),
    { seed: 22, numRuns: 200 },
  )
})

it('E9: programs in other languages read the event as a CloudEvent in binary mode', () => {
  const event = make.event({ channel: 'orders', key: 'a', source: '/shop', payload: { total: 3 } })
  const { key, value, headers } = encodeEvent(event, 'orders')
  const names = ['ce_specversion', 'ce_id', 'ce_type', 'ce_source', 'content-type']
  expect(names.map(name => headerText(headers, name))).toEqual([
    '1.0',
    event.id,
    event.type,
    '/shop',
    'application/json',
  ])
  expect([key?.toString(), value?.toString()]).toEqual(['a', '{"total":3}'])
})

it('E9: a CloudEvent of another program is an event, with its key as that of the record', () => {
  const headers = Object.entries({
    ce_specversion: '1.0',
    ce_id: '1',
    ce_type: 't',
    ce_source: '/s',
    'content-type': 'application/json',
    'x-a': 'b',
  })
  const record = {
    key: bytes('k'),
    value: bytes('[1]'),
    headers: headers.map(([name, value]) => [bytes(name), bytes(value)] as const),
  }
  expect(decode(record, 'orders', origin)).toMatchObject({
    id: '1',
    type: 't',
    key: 'k',
    headers: { 'x-a': 'b' },
    payload: [1],
  })
})

it('E9: a CloudEvent with the usual attributes is read as any other CloudEvent is', () => {
  const attributes = {
    specversion: '1.0',
    id: '1',
    type: 't',
    source: '/s',
    time: '2026-01-02T03:04:05.678Z',
  }
  const of = (value: string, more: Readonly<Record<string, string>> = {}) => ({
    key: bytes('k'),
    value: bytes(value),
    headers: Object.entries({ ...prefixed(attributes), 'content-type': 'application/json', ...more }).map(
      ([name, text]) => [bytes(name), bytes(text)] as const,
    ),
  })
  const defaults = { channel: 'orders', occurredAt: 5_000 }
  for (const value of ['{"a":[1]}', 'null', '"žluť"']) {
    const other = fromAttributes(
      new Map(Object.entries(attributes)),
      'application/json',
      bytes(value),
      defaults,
    )
    expect(decode(of(value), 'orders', origin)).toEqual({ ...other, key: 'k' })
    expect(decode(of(value, { 'x-a': 'b' }), 'orders', origin)).toEqual({
      ...other,
      key: 'k',
      headers: { 'x-a': 'b' },
    })
  }
  expect(decode(of('1', { ce_partitionkey: 'p', ce_tenant: 'x' }), 'orders', origin)).toMatchObject({
    key: 'p',
    headers: { 'ce-tenant': 'x' },
  })
  expect(decode(of('1', { ce_time: '2026-01-02T04:04:05+01:00' }), 'orders', origin)).toMatchObject({
    occurredAt: Date.parse('2026-01-02T03:04:05Z'),
    headers: { 'ce-time': '2026-01-02T04:04:05+01:00' },
  })
  expect(decode(of('{'), 'orders', origin)).toMatchObject({ raw: new Uint8Array([123]) })
})

function prefixed(attributes: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(attributes).map(([name, text]) => [`ce_${name}`, text]))
}

it('P2: a plain message is an event of its place and time, because the next topic of this name has the same places', () => {
  const plain = decode({ key: Buffer.from([255]), value: bytes('{"a":1}'), headers: [] }, 'orders', origin)
  expect(plain).toMatchObject({
    id: 'orders/3/9@5000',
    type: 'orders',
    key: undefined,
    occurredAt: 5_000,
    payload: { a: 1 },
  })
  expect(decode({ key: null, value: null, headers: [] }, 'orders', origin)).toMatchObject({ payload: null })
  const untimed = { ...origin, timestamp: -1 }
  expect(decode({ key: null, value: null, headers: [] }, 'orders', untimed)).toMatchObject({
    id: 'orders/3/9@0',
  })
})

it('P2: a copy of a plain record has the id of the first one, and not its own place and time', () => {
  const plain = { key: null, value: bytes('{}'), headers: [] }
  const copy = withLog(plain, origin, { started: 0, ended: 0, history: [] }, undefined)
  const place = { topic: 'orders.bill.held', partition: 0, offset: 70, timestamp: 80_000 }
  const { origin: carried } = readLog('kafka', { ...copy, ...place, bytes: 0 })
  expect(decode(copy, 'orders', carried)).toMatchObject({ id: 'orders/3/9@5000' })
})

it('B9: the id that a key is unblocked by is that of the event, also of a record with `ce_id` that is not a CloudEvent', () => {
  const headers = [[bytes('ce_id'), bytes('a-1')]] as const
  const record = { key: null, value: bytes('{}'), headers }
  expect(decode(record, 'orders', origin)).toMatchObject({ id: eventIdOf(record, 'orders', origin) })
})

it('P2: content that says it is JSON and is not keeps its bytes', () => {
  const headers = [[bytes('Content-Type'), bytes('application/json')]] as const
  const broken = decode({ key: null, value: bytes('{'), headers }, 'orders', origin)
  expect(broken).toMatchObject({ raw: new Uint8Array([123]) })
})

it('P2: a record that is not an event keeps the headers of its sender, and those of a CloudEvent', () => {
  const attributes = { ce_specversion: '1.0', ce_id: 'a-1', ce_type: 't', ce_source: '/shop' }
  const given = { ...attributes, 'content-type': 'application/json', tenant: 'acme' }
  const headers = Object.entries({ ...given, 'lazaret-log': '{}' }).map(
    ([name, text]) => [bytes(name), bytes(text)] as const,
  )
  const broken = decode({ key: null, value: bytes('{'), headers }, 'orders', origin)
  expect(broken).toMatchObject({ raw: new Uint8Array([123]) })
  expect(broken.headers).toEqual(given)
})
