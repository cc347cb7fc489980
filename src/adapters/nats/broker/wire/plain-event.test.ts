import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFactory } from '../../../../testing/factories.ts'
import type { HeaderList } from '../../connection/headers.ts'
import { decode, encodeEvent } from './event-codec.ts'
import { plainEvent } from './plain-event.ts'

const make = createFactory()
const origin = { broker: 'nats', stream: 'ORDERS', subject: 'orders.new', offset: 9, timestamp: 5_000 }

/** A name with a capital is read by the other way only. */
const byTheOtherWay = (headers: HeaderList): HeaderList =>
  headers.map(([name, value]) => [name === 'ce-specversion' ? 'Ce-Specversion' : name, value])

/** Mostly the usual value, or mostly none. */
const header = (isUsual: boolean, name: string, usual: string, ...others: readonly string[]) =>
  fc.oneof(
    { weight: isUsual ? 40 : 4, arbitrary: fc.constant([name, usual] as const) },
    { weight: isUsual ? 1 : 40, arbitrary: fc.constant(undefined) },
    ...others.map(other => ({ weight: 1, arbitrary: fc.constant([name, other] as const) })),
  )
const usually = (name: string, ...values: readonly [string, ...string[]]) => header(true, name, ...values)
const seldom = (name: string, ...values: readonly [string, ...string[]]) => header(false, name, ...values)

const HEADERS = fc
  .tuple(
    usually('ce-specversion', '1.0', '0.3'),
    usually('ce-id', 'a-1', 'a%201', '"a"', '%', '', 'x'.repeat(3_000)),
    usually('ce-type', 'order.placed', 'order%2Fplaced'),
    usually('ce-source', '/shop', '/a%20b', 'no uri'),
    usually('ce-time', '2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05Z', '2026-02-31T00:00:00.000Z', ''),
    usually('content-type', 'application/json', 'text/plain', 'image/png', 'application/octet-stream'),
    seldom('ce-partitionkey', 'customer-1', 'customer%201', ''),
    seldom('ce-subject', 'a'),
    seldom('CE-TYPE', 'other'),
    seldom('x-trace', 'kept', '\0'),
    seldom('x y', 'a name that no event has'),
    seldom('Nats-Msg-Id', '1'),
    seldom('__proto__', '1'),
    seldom(
      'lazaret-event',
      '{"v":1,"channel":"orders"}',
      '{"v":1,"channel":"other","idempotencyKey":"k","expiresAt":9,"hasNoSource":true}',
      '{"v":1,"channel":"orders","headers":{"ce-x":"1"}}',
      '{"v":1,"channel":"no channel"}',
      'null',
      '{',
    ),
  )
  .map(headers => headers.filter(each => each !== undefined) as HeaderList)

const BODIES = fc.constantFrom(
  '{"total":3}',
  '{"total":12345678901234567890}',
  '3',
  '"x"',
  'null',
  '',
  '{"no',
  '\ufeff{}',
)

it('E9: a message is read as the same event by both ways, or has the same fault', () => {
  let plain = 0
  fc.assert(
    fc.property(HEADERS, BODIES, (headers, text) => {
      const message = { subject: 'orders.new', data: Buffer.from(text), headers }
      if (plainEvent(message, 'orders') !== undefined) plain++
      const other = decode({ ...message, headers: byTheOtherWay(headers) }, 'orders', origin)
      expect(decode(message, 'orders', origin)).toEqual(other)
    }),
    { seed: 7, numRuns: 2_000 },
  )
  expect(plain).toBeGreaterThan(100)
})

it('E9: what Lazaret publishes is read by the short way', () => {
  const event = make.event({ channel: 'orders', key: 'a b', source: undefined, payload: { total: 3 } })
  expect(plainEvent({ subject: 'orders.new', ...encodeEvent(event) }, 'orders')).toEqual(event)
})
