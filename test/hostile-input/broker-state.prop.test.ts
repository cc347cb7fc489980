import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FailureCache } from '../../src/adapter-kit/collecting/failure-cache.ts'
import { EMPTY_LOG } from '../../src/adapter-kit/delivery/tracked-delivery.ts'
import { OffsetWindow } from '../../src/adapters/kafka/broker/group/offset-window.ts'
import { decodeProgress, encodeProgress, progressAt } from '../../src/adapters/kafka/broker/group/progress.ts'
import { heldMessage, readHeld, waitingRecord } from '../../src/adapters/kafka/broker/ordered/held-record.ts'
import { header, OWN } from '../../src/adapters/kafka/broker/wire/headers.ts'
import { returnedRecord } from '../../src/adapters/kafka/letters/returned-record.ts'
import { decodeHeaders, encodeHeaders } from '../../src/adapters/nats/connection/headers.ts'
import { readAdvisory } from '../../src/adapters/nats/letters/advisories.ts'
import { collect, collectUndelivered } from '../../src/adapters/nats/letters/letter.ts'
import { returnedMessage } from '../../src/adapters/nats/letters/returned-message.ts'
import { keepTable, readTable, wireHeaders } from '../../src/adapters/rabbitmq/broker/wire/table.ts'
import { typedText } from '../../src/adapters/rabbitmq/letters/header-types.ts'
import { collectedHeaders, returned } from '../../src/adapters/rabbitmq/letters/returned-message.ts'
import { decode, decodeBytes } from '../../src/adapters/redis/broker/decode.ts'
import { decodeLetter, encodeLetter } from '../../src/core/dead-letter/json.ts'
import type { Origin } from '../../src/core/dead-letter/letter.ts'
import { plainCodec } from '../../src/ports/codec.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { cases, damagedBytes, damagedJson, hostileBytes, hostileName, hostileText } from './arbitraries.ts'
import { readsOrRefuses } from './reads-or-refuses.ts'

const NOW = 1_767_225_600_000
/** The headers of Watermill's poison queue. */
const POISON = ['reason_poisoned', 'topic_poisoned', 'handler_poisoned']
const make = createFactory({ clock: new FakeClock() })

describe('what a broker keeps for a handler', () => {
  const message = { key: Buffer.from('a'), value: Buffer.from('{}'), headers: [] }
  const held = { line: 'a', place: 7, topic: 'x', firstPlace: 0, id: 'one', notBefore: 0, waitMs: 0 }
  const good = waitingRecord('x:7', held, message, { topic: 'orders' }, EMPTY_LOG)
  const stateOf = (record: typeof good) => JSON.parse(String(record.headers.at(-1)![1]))

  it('B9: a record of the held topic of Kafka that is not ours holds nobody up, whatever it says', () => {
    const texts = fc.oneof(
      hostileText,
      damagedJson(stateOf(good)).map(value => JSON.stringify(value)),
    )
    fc.assert(
      fc.property(texts, text => {
        const record = { ...good, headers: [header(OWN.held, text)] }
        const read = readHeld(record)
        if (read !== undefined) expect(Number.isSafeInteger(read.place)).toBe(true)
        heldMessage(record)
      }),
      cases(300),
    )
    expect(readHeld(good)).toMatchObject(held)
  })

  it('B8: the metadata of a commit that is not ours skips no record and blames none', () => {
    const topicId = 'a1b2c3d4-0000-0000-0000-000000000000'
    const progress = { ...progressAt(5), settled: [[7, 9]] as const, upTo: 20, running: 6 }
    const valid = encodeProgress(progress, topicId)
    const texts = fc.oneof(
      hostileText,
      damagedBytes(Buffer.from(valid)).map(String),
      hostileText.map(text => `1;a1b2c3d4;${text}`),
    )
    fc.assert(
      fc.property(texts, text => {
        const read = decodeProgress(5, text, topicId)
        if (read === undefined) return
        const window = new OffsetWindow(read)
        expect(window.readTo).toBe(5)
        const numbers = [read.upTo, read.suspectsBelow, ...read.settled.flat(), ...[...read.crashes].flat()]
        for (const number of numbers) expect(Number.isSafeInteger(number), text).toBe(true)
        let last = 5
        for (const [from, to] of read.settled) {
          expect(from, text).toBeGreaterThanOrEqual(last)
          expect(to, text).toBeGreaterThanOrEqual(from)
          last = to
        }
      }),
      cases(300),
    )
  })

  it('B20: headers of a stored NATS message are read as far as they are headers', () => {
    const valid = Buffer.from(encodeHeaders([['a', 'b']]))
    fc.assert(
      fc.property(fc.oneof(hostileBytes, damagedBytes(valid)), bytes => {
        for (const [name] of decodeHeaders(bytes)) expect(name).not.toBe('')
      }),
    )
    expect(decodeHeaders(valid)).toEqual([['a', 'b']])
  })

  it('B20: a message of a NATS dead-letter stream, and an advisory, become letters that can be stored', () => {
    const context = { broker: 'nats', originalSubjects: {}, now: NOW, failures: new FailureCache() }
    const stored = fc.record({
      subject: fc.constantFrom('orders', 'dead.orders'),
      sequence: fc.integer({ min: 1, max: 1_000 }),
      headers: fc.array(fc.tuple(fc.oneof(hostileName, fc.constantFrom(...POISON)), hostileText)),
      data: hostileBytes,
      storedAt: fc.constant(NOW),
    })
    const told = {
      ...{ stream: 'ORDERS', consumer: 'bill', stream_seq: 7, deliveries: 3 },
      timestamp: '2026-01-01T00:00:00Z',
    }
    fc.assert(
      fc.property(stored, damagedJson(told), (given, advisory) => {
        const letters = [collect('DLQ', given, context).letter]
        const read = readAdvisory(Buffer.from(JSON.stringify(advisory)))
        if (read !== undefined) letters.push(collectUndelivered(read, given, 'X', context).letter)
        for (const letter of letters) expect(decodeLetter(encodeLetter(letter)).id).toBe(letter.id)
      }),
      cases(100),
    )
  })

  it('E11: an entry of a Redis stream is an event or undecodable, as text and as bytes', () => {
    const source = { channel: 'orders', from: '5-0', codec: plainCodec.events }
    const event = JSON.parse(plainCodec.events.encode(make.event()))
    const fields = fc.oneof(
      fc.array(fc.oneof(hostileName, hostileText)),
      fc
        .oneof(
          hostileText,
          damagedJson(event).map(value => JSON.stringify(value) ?? ''),
        )
        .map(text => ['event', text]),
    )
    fc.assert(
      fc.property(fields, fc.array(hostileBytes), (texts, bytes) => {
        decode(texts, source)
        decodeBytes(bytes, source)
      }),
      cases(300),
    )
  })

  it('P2: a table of AMQP is read as it is on the wire, or not at all', () => {
    const entry = Buffer.concat([
      Buffer.from([1]),
      Buffer.from('aS'),
      Buffer.from([0, 0, 0, 1]),
      Buffer.from('b'),
    ])
    expect(readTable(entry)).toHaveLength(1)
    fc.assert(
      fc.property(fc.oneof(hostileBytes, damagedBytes(entry)), table => {
        const head = Buffer.alloc(18)
        head.writeUInt16BE(1 << 13, 12)
        head.writeUInt32BE(table.length, 14)
        const properties = { headers: {} }
        keepTable(properties, Buffer.concat([head, table]))
        wireHeaders(properties)
        collectedHeaders(properties)
        typedText(table)
      }),
      cases(300),
    )
  })
})

/** An imported letter brings its origin with it, and a person may have edited the file. */
describe('the origin of a letter that goes back', () => {
  const event = make.event({ channel: 'orders', key: 'k', headers: { a: 'b' }, payload: 'text' })
  const recordForms = { v: 1, headers: ['a', ['b', 'base64', 'B']], key: 'base64', value: 'text' }
  const headerForms = { v: 1, types: { a: { F: { x: 'S' } } }, names: { a: 'A' } }
  const textOf = (valid: unknown) =>
    fc.oneof(
      hostileText,
      damagedJson(valid).map(value => JSON.stringify(value) ?? ''),
    )
  const origin = fc.record({
    writtenBy: fc.constant('spring'),
    topic: fc.constant('orders'),
    queue: fc.constant('orders'),
    recordForms: textOf(recordForms),
    headerForms: fc.option(textOf(headerForms), { nil: undefined }),
    typedHeaders: textOf(['a']),
    contentType: hostileText,
  }) as fc.Arbitrary<Origin>

  it('B13: whatever its forms say, a message is made or refused with our own error', () => {
    fc.assert(
      fc.property(origin, given => {
        readsOrRefuses(() => returnedRecord(event, given, {} as never))
        readsOrRefuses(() => returnedMessage(event, given))
        readsOrRefuses(() => returned(event, given, 'queue'))
      }),
      cases(300),
    )
  })
})
