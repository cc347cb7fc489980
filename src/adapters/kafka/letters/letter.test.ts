import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import type { RecordHeader } from '../../../adapter-kit/collecting/record-headers.ts'
import { letterFromJson, letterToJson } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import { isVerified } from '../../../core/dead-letter/verify.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { resolveKafka } from '../options.ts'
import { collect, type DeadRecord } from './letter.ts'
import { faultOfReturn, returnedRecord as returnedWith } from './returned-record.ts'

const NAMES = resolveKafka({ brokers: ['kafka:9092'] })
const NOW = Date.parse('2026-02-01T12:00:00Z')
const WRITTEN_AT = Date.parse('2026-01-31T12:00:00Z')

function header(name: string, value: string | Buffer | null): RecordHeader {
  return [Buffer.from(name), typeof value === 'string' ? Buffer.from(value) : value]
}

const SPRING = [
  header('kafka_dlt-exception-fqcn', 'com.shop.OutOfStock'),
  header('kafka_dlt-exception-message', 'nothing left'),
  header('kafka_dlt-original-topic', 'orders'),
  header('kafka_dlt-original-partition', Buffer.from([0, 0, 0, 2])),
  header('kafka_dlt-original-consumer-group', 'billing'),
]

function found(told: Partial<DeadRecord> = {}): DeadRecord {
  return {
    topic: 'orders.DLT',
    partition: 1,
    offset: 41,
    timestamp: WRITTEN_AT,
    key: Buffer.from('customer-7'),
    value: Buffer.from('{"id":7}'),
    headers: SPRING,
    ...told,
  }
}

function read(
  record: DeadRecord,
  originalTopics: Readonly<Record<string, string>> = {},
  now = NOW,
): DeadLetter {
  return collect(record, { broker: 'kafka', originalTopics, now, failures: new FailureCache() }).letter
}

function returnedRecord(event: DeadLetter['event'], origin: DeadLetter['origin']) {
  return returnedWith(event, origin, NAMES)
}

/** The event of a replay, as the runner creates it. A store may return the headers in another order. */
function replayed(letter: DeadLetter, attempt = 1) {
  const { event, id: letterId, handler } = letterFromJson(letterToJson(letter))
  const headers = Object.fromEntries(Object.entries(event.headers).sort(([a], [b]) => (a < b ? 1 : -1)))
  return {
    ...event,
    headers: replayHeaders({ ...event, headers }, { attempt, replayId: 'r1', letterId, handler }),
  }
}

describe('a record of a dead-letter topic', () => {
  it('B20: is a letter of the original topic and the group that failed', () => {
    expect(read(found())).toMatchObject({
      channel: 'orders',
      handler: 'billing',
      state: 'dead',
      event: {
        id: 'orders.DLT/1/41@1769860800000',
        type: 'orders',
        key: 'customer-7',
        payload: { id: 7 },
        headers: {},
      },
      origin: {
        broker: 'kafka',
        brokerKind: 'kafka',
        topic: 'orders',
        partition: 2,
        collectedFrom: 'orders.DLT',
        collectedPartition: 1,
        collectedOffset: '41',
        writtenBy: 'spring',
      },
      cycle: {
        number: 0,
        reason: 'collected',
        failure: { name: 'com.shop.OutOfStock', message: 'nothing left' },
        attemptCount: 1,
        lastFailedAt: WRITTEN_AT,
      },
    })
  })

  it('E21: is the same letter at every reading, and another one for every place and time', () => {
    const letter = read(found())
    expect(mergeLetter(letter, read(found(), {}, NOW + 60_000))).toEqual(letter)
    const others = [
      found({ offset: 42 }),
      found({ partition: 0 }),
      found({ topic: 'bills.DLT' }),
      found({ timestamp: WRITTEN_AT + 1 }),
    ]
    expect(new Set([letter, ...others.map(each => read(each))].map(({ id }) => id)).size).toBe(5)
  })

  it('E21: has an id also if its topic has the longest name', () => {
    const [one, two] = ['a', 'b'].map(end => read(found({ topic: 'x'.repeat(248) + end })).event.id)
    expect(one).toMatch(/^kafka-[0-9a-f]{32}$/)
    expect(one).not.toBe(two)
  })

  it('B20: that says nothing has the topic of its name, or the one that the options give', () => {
    const plain = found({ headers: [] })
    expect(read(plain)).toMatchObject({
      channel: 'orders',
      handler: 'orders',
      origin: { writtenBy: 'other' },
    })
    const failed = found({ topic: 'broken', headers: [] })
    const unknown = read(failed)
    expect(unknown).toMatchObject({ channel: 'broken', handler: 'broken' })
    expect(faultOfReturn(unknown)).toContain('nothing says which topic the records of broken came from')
    const told = read(failed, { broken: 'orders' })
    expect(told).toMatchObject({ channel: 'orders', origin: { topic: 'orders' } })
    expect(faultOfReturn(told)).toBeUndefined()
  })

  it('B20: may have a topic of any name, a time of none and a type of its own', () => {
    const { letter, isTimeKnown } = collect(
      found({ timestamp: -1, headers: [header('ce_type', 'order.placed'), header('ce_id', 'e-1')] }),
      {
        broker: 'kafka',
        originalTopics: { 'orders.DLT': '_orders_' },
        now: NOW,
        failures: new FailureCache(),
      },
    )
    expect(isTimeKnown).toBe(false)
    expect(letter).toMatchObject({
      channel: 'orders',
      handler: '_orders_',
      event: { type: 'order.placed', idempotencyKey: 'e-1', occurredAt: NOW },
      origin: { topic: '_orders_' },
    })
  })
})

describe('a collected record that is replayed', () => {
  it('B20: goes back to partition and topic without what the failure had added', () => {
    const letter = read(found({ headers: [header('tenant', 'eu'), ...SPRING, header('trace', 'abc')] }))
    const { topic, partition, key, value, headers } = returnedRecord(replayed(letter), letter.origin)
    expect({ topic, partition }).toEqual({ topic: 'orders', partition: 2 })
    expect([key, value]).toEqual([Buffer.from('customer-7'), Buffer.from('{"id":7}')])
    expect(headers.slice(0, 2)).toEqual([header('tenant', 'eu'), header('trace', 'abc')])
    expect(headers.slice(2).map(([name]) => name.toString())).toEqual(
      expect.arrayContaining(['x-replayed', 'x-original-id', 'x-letter-id', 'x-replay-id']),
    )
  })

  it('B20: has key, value and headers byte for byte, repeated and null ones too', () => {
    const bytes = fc.uint8Array({ maxLength: 40 }).map(each => Buffer.from(each))
    const json = fc.json().map(each => Buffer.from(each))
    const text = fc.string({ unit: 'binary', maxLength: 40 }).map(each => Buffer.from(each))
    const orNull = (of: fc.Arbitrary<Buffer>) => fc.option(of, { nil: null })
    const name = fc
      .oneof(
        fc.constantFrom('a', 'a~2', 'b', '1', '__proto__', 'a b', 'é(', 'id'),
        fc.string({ minLength: 1 }),
      )
      .filter(each => Buffer.from(each).toString() === each && !each.startsWith('x-') && each.length < 30)
      .map(each => Buffer.from(each))
    const any = fc.oneof(bytes, json, text)
    fc.assert(
      fc.property(
        orNull(any),
        orNull(any),
        fc.array(fc.tuple(name, orNull(any)), { maxLength: 6 }),
        (key, value, headers) => {
          const letter = read(found({ key, value, headers: [...headers, ...SPRING] }))
          if (letter.origin['unkept'] !== undefined) {
            // Only a name that cannot be escaped is refused.
            expect(headers.some(([each]) => /[^ -~]/.test(each.toString()) || each.length > 40)).toBe(true)
            return
          }
          const sent = returnedRecord(replayed(letter), letter.origin)
          expect([sent.key, sent.value]).toEqual([key, value])
          expect(sent.headers.slice(0, headers.length)).toEqual(headers)
        },
      ),
      { numRuns: 500, seed: 22 },
    )
  })

  it('B13: keeps an edited payload and an edited header', () => {
    const headers = [header('tenant', 'eu'), header('raw', Buffer.from([255]))]
    const letter = read(found({ value: Buffer.from('plain text'), headers: [...headers, ...SPRING] }))
    const event = replayed(letter)
    const edited = { ...event, payload: { id: 8 }, headers: { ...event.headers, tenant: 'us', raw: 'text!' } }
    const sent = returnedRecord(edited, letter.origin)
    expect(sent.value?.toString()).toBe('{"id":8}')
    expect(sent.headers.slice(0, 2)).toEqual([header('tenant', 'us'), header('raw', 'text!')])
  })

  it('B14: that fails again is the next cycle of its letter', () => {
    const letter = read(found())
    const sent = returnedRecord(replayed(letter), letter.origin)
    const again = read(found({ offset: 90, headers: [...sent.headers, ...SPRING] }))
    expect(again).toMatchObject({
      id: letter.id,
      cycle: { number: 1, replayId: 'r1' },
      event: { id: letter.event.id },
    })
    // The saver verifies the claim with the stored letter.
    expect(isVerified(again)).toBe(false)
  })

  it('B14: of another group is a letter of its own', () => {
    const letter = read(found())
    const sent = returnedRecord(replayed(letter), letter.origin)
    const others = [
      ...sent.headers,
      ...SPRING.slice(0, 4),
      header('kafka_dlt-original-consumer-group', 'shipping'),
    ]
    const other = read(found({ offset: 90, headers: others }))
    expect(other).toMatchObject({ handler: 'shipping', cycle: { number: 0 } })
    expect(other.event.id).toBe('orders.DLT/1/90@1769860800000')
  })

  it('B13: redirected goes to the topic of the channel, and its key decides the partition', () => {
    const letter = read(found())
    const headers = replayHeaders(letter.event, { attempt: 1, replayId: 'r1', letterId: letter.id })
    const sent = returnedRecord({ ...letter.event, channel: 'repair', headers }, letter.origin)
    expect(sent).toMatchObject({ topic: 'repair', partition: undefined })
  })

  it('B20: with a key that no letter can store is not sent back', () => {
    const letter = read(found({ key: Buffer.alloc(600, 'k') }))
    expect(faultOfReturn(letter)).toContain('its key has 600 bytes')
  })
})
