import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkEvent } from './check.ts'
import { resolveEventLimits } from './limits.ts'

const EVENT = {
  id: 'a',
  type: 'order.paid',
  channel: 'orders',
  idempotencyKey: 'a',
  occurredAt: 1_700_000_000_000,
  headers: {},
  payload: null,
}
const faultsOf = (changes: object) => checkEvent({ ...EVENT, ...changes }).map(fault => fault.path)

describe('limits of the envelope', () => {
  it('F7: every fault is listed at once, with what was received and the remedy', () => {
    const faults = checkEvent({ id: '', type: 7, channel: '../etc', headers: new Map(), payload: Number.NaN })
    expect(faults.map(fault => fault.path)).toEqual([
      'id',
      'type',
      'channel',
      'idempotencyKey',
      'occurredAt',
      'headers',
      'payload',
    ])
    expect(faults[1]).toMatchObject({ received: '7', remedy: expect.stringContaining('255') })
  })

  it('F3: a channel is a safe name for queues, topics and files', () => {
    for (const channel of ['orders', 'Orders.EU-1_x', '0', 'a'.repeat(120)]) {
      expect(faultsOf({ channel }), channel).toEqual([])
    }
    const unsafe = [
      '',
      '.',
      '..',
      'a..b',
      '.a',
      'a.',
      '-a',
      'a-',
      'a/b',
      'a\\b',
      'a b',
      'a\n',
      'ä',
      '*',
      '>',
      'a'.repeat(121),
    ]
    for (const channel of unsafe) expect(faultsOf({ channel }), channel).toEqual(['channel'])
  })

  it('F3: lengths are counted in bytes, because brokers do', () => {
    expect(faultsOf({ id: 'a'.repeat(255), key: 'ü'.repeat(256) })).toEqual([])
    expect(faultsOf({ id: 'a'.repeat(256), type: 'ü'.repeat(128), key: 'ü'.repeat(257) })).toEqual([
      'id',
      'type',
      'key',
    ])
  })

  it('P2: texts that some store could not hold are refused', () => {
    expect(faultsOf({ id: 'a\0' })).toEqual(['id'])
    expect(faultsOf({ key: '\ud800' })).toEqual(['key'])
    expect(faultsOf({ type: 'a\nb' })).toEqual(['type'])
    expect(faultsOf({ source: 'not a uri' })).toEqual(['source'])
    expect(faultsOf({ source: '/shop/%zz' })).toEqual(['source'])
    expect(faultsOf({ source: 'https://shop.example/a%20b?c#d' })).toEqual([])
  })

  it('K9: times are whole milliseconds that ISO 8601 can write', () => {
    for (const time of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 253_402_300_800_000, '0', null]) {
      expect(faultsOf({ occurredAt: time, expiresAt: time })).toEqual(['occurredAt', 'expiresAt'])
    }
    expect(faultsOf({ occurredAt: 0, expiresAt: 253_402_300_799_999 })).toEqual([])
  })
})

describe('limits of headers', () => {
  it('P2: names are tokens, values are strings', () => {
    expect(faultsOf({ headers: { 'x-Any_1.2~': '', trace: 'line\nbreak\tü' } })).toEqual([])
    expect(faultsOf({ headers: { 'a b': '1' } })).toEqual(['headers'])
    expect(faultsOf({ headers: { ['n'.repeat(129)]: '1' } })).toEqual(['headers'])
    expect(faultsOf({ headers: { a: 1, b: undefined } })).toEqual(['headers.a', 'headers.b'])
    expect(faultsOf({ headers: { a: 'nul\0', b: '\udc00' } })).toEqual(['headers.a', 'headers.b'])
    expect(faultsOf({ headers: ['a'] })).toEqual(['headers'])
  })

  it('P2: a header named __proto__ is refused, never taken as a prototype', () => {
    expect(faultsOf({ headers: JSON.parse('{"__proto__":"x"}') })).toEqual(['headers'])
  })

  it('P2: count and bytes are bounded', () => {
    const limits = resolveEventLimits({ maxHeaders: 2, maxHeaderBytes: 10 })
    const faults = (headers: object) => checkEvent({ ...EVENT, headers }, limits).length
    expect(faults({ a: '1234', b: '1234' })).toBe(0)
    expect(faults({ a: '1234', b: '12345' })).toBe(1)
    expect(faults({ a: 'üüüü', b: '' })).toBe(0)
    expect(faults({ a: 'üüüüü' })).toBe(1)
    expect(faults({ a: '', b: '', c: '' })).toBe(1)
  })

  it('P2: a refused value is not shown, because headers carry credentials', () => {
    const faults = checkEvent({ ...EVENT, headers: { authorization: 'hunter2\0' } })
    expect(JSON.stringify(faults)).not.toContain('hunter2')
  })
})

describe('hostile events', () => {
  it('P2: whatever an event is made of, the check returns faults and never throws', () => {
    const throwing = new Proxy({}, { get: () => fail(), ownKeys: () => fail(), getPrototypeOf: () => fail() })
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom(...Object.keys(EVENT)), (value, field) => {
        expect(Array.isArray(checkEvent({ ...EVENT, [field]: value }))).toBe(true)
        expect(faultsOf({ [field]: throwing }).length).toBeGreaterThan(0)
      }),
    )
    expect(checkEvent(throwing).length).toBeGreaterThan(0)
  })
})

function fail(): never {
  throw new RangeError('boom')
}
