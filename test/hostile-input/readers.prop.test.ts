import * as kafkaClient from '@platformatic/kafka'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FailureCache } from '../../src/adapter-kit/collecting/failure-cache.ts'
import { commandRecords } from '../../src/adapter-kit/fleet/check-commands.ts'
import { instancesOf } from '../../src/adapter-kit/fleet/check-report.ts'
import { letterFromHeader } from '../../src/adapter-kit/wire/letter-headers.ts'
import { decode as decodeRecord } from '../../src/adapters/kafka/broker/wire/event-codec.ts'
import { readLog as readRecordLog } from '../../src/adapters/kafka/broker/wire/record-log.ts'
import { readBatches } from '../../src/adapters/kafka/connection/records.ts'
import { collect as collectRecord } from '../../src/adapters/kafka/letters/letter.ts'
import { decode as decodeNats } from '../../src/adapters/nats/broker/wire/event-codec.ts'
import { readLog as readNatsLog } from '../../src/adapters/nats/broker/wire/message-log.ts'
import { decode as decodeAmqp } from '../../src/adapters/rabbitmq/broker/wire/event-codec.ts'
import { readLog as readAmqpLog } from '../../src/adapters/rabbitmq/broker/wire/message-log.ts'
import { collect as collectMessage } from '../../src/adapters/rabbitmq/letters/letter.ts'
import { readLog as readEntryLog, sentFields } from '../../src/adapters/redis/broker/entry.ts'
import { readPartialSuccess } from '../../src/adapters/sinks/otlp/partial-success.ts'
import { parseConfig } from '../../src/config/config.ts'
import { decodeLetter, encodeLetter } from '../../src/core/dead-letter/json.ts'
import { fromCloudEvent, toCloudEvent } from '../../src/core/event/cloudevents.ts'
import { fromBinaryCloudEvent } from '../../src/core/event/cloudevents-binary.ts'
import type { JsonValue } from '../../src/core/event/event.ts'
import { decodeEvent, encodeEvent } from '../../src/core/event/json.ts'
import { WIDEST_EVENT_LIMITS } from '../../src/core/event/limits.ts'
import type { PatchOperation } from '../../src/ports/replays.ts'
import { applyPatch } from '../../src/runtime/json-patch.ts'
import { readJsonCursor, writeJsonCursor } from '../../src/server/routes/json-cursor.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { damagedBytes, damagedJson, hostileBytes, hostileName, hostileText, maybe } from './arbitraries.ts'
import { readsOrRefuses } from './reads-or-refuses.ts'

const NOW = 1_767_225_600_000
const make = createFactory({ clock: new FakeClock() })
const defaults = { channel: 'orders', occurredAt: NOW, limits: WIDEST_EVENT_LIMITS }

/** The values that a header of AMQP can have. */
const amqpValue = fc.oneof(
  hostileText,
  hostileBytes,
  fc.boolean(),
  fc.double(),
  fc.integer(),
  fc.constant(null),
  fc.array(hostileText, { maxLength: 3 }),
  fc.record({
    '!': fc.constantFrom('timestamp', 'decimal', 'int64', 'other'),
    value: fc.anything({ maxDepth: 1 }),
  }),
  fc.array(fc.dictionary(hostileName, fc.oneof(hostileText, fc.integer()), { maxKeys: 4 }), { maxLength: 3 }),
)

const amqpMessage = fc.record({
  content: hostileBytes,
  properties: fc.record({
    headers: maybe(fc.dictionary(hostileName, amqpValue)),
    messageId: maybe(hostileText),
    appId: maybe(fc.constantFrom('lazaret', 'other')),
    type: maybe(hostileText),
    timestamp: maybe(fc.oneof(fc.double(), fc.integer())),
    contentType: maybe(hostileText),
    contentEncoding: maybe(hostileText),
    correlationId: maybe(hostileText),
  }),
  fields: fc.record({ exchange: hostileText, routingKey: hostileText, redelivered: fc.boolean() }),
}) as fc.Arbitrary<never>

const record = fc.record({
  topic: fc.constantFrom('orders', 'orders.DLT', 'dlq'),
  partition: fc.nat(),
  offset: fc.nat(),
  timestamp: fc.integer(),
  bytes: fc.constant(1),
  key: fc.option(hostileBytes),
  value: fc.option(hostileBytes),
  headers: fc.array(
    fc.tuple(
      fc.oneof(
        hostileName.map(name => Buffer.from(name)),
        hostileBytes,
      ),
      fc.option(hostileBytes),
    ),
  ),
})

const natsMessage = fc.record({
  subject: fc.constant('orders'),
  data: hostileBytes,
  headers: fc.array(fc.tuple(hostileName, hostileText)),
})

/** A letter that was made can also be stored and read again. */
function storable({ letter }: { readonly letter: Parameters<typeof encodeLetter>[0] }): void {
  expect(decodeLetter(encodeLetter(letter)).id).toBe(letter.id)
}

/** A header that a reader looks for is one of many names, so few cases would not find it with a value that harms. */
const MESSAGES = { numRuns: 2_000 }

describe('a message of a stranger', () => {
  it('P2: on RabbitMQ is an event or undecodable, and its dead letter can be stored', () => {
    const context = { broker: 'rabbitmq', queue: 'dlq', now: NOW, failures: new FailureCache() }
    fc.assert(
      fc.property(amqpMessage, message => {
        decodeAmqp(message, 'orders', { broker: 'rabbitmq', exchange: 'orders', routingKey: '' })
        readAmqpLog(message)
        storable(collectMessage(message, context))
      }),
      MESSAGES,
    )
  })

  it('P2: on Kafka is an event or undecodable, and its dead letter can be stored', () => {
    const context = { broker: 'kafka', originalTopics: {}, now: NOW, failures: new FailureCache() }
    fc.assert(
      fc.property(record, given => {
        decodeRecord(given, 'orders', { broker: 'kafka', topic: given.topic, timestamp: given.timestamp })
        readRecordLog('kafka', given)
        storable(collectRecord(given, context))
      }),
      MESSAGES,
    )
  })

  it('P2: on NATS is an event or undecodable', () => {
    fc.assert(
      fc.property(natsMessage, message => {
        decodeNats(message, 'orders', { broker: 'nats', stream: 'ORDERS', timestamp: NOW })
        readNatsLog('nats', message, { stream: 'ORDERS', sequence: 1, storedAt: NOW }, NOW)
      }),
      MESSAGES,
    )
  })

  it('P2: on Redis Streams is an entry with a log, whatever its fields', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(hostileName, hostileText)), fields => {
        readEntryLog({ side: 'own', id: '1-0', fields: ['lazaret-log', ...fields] }, undefined)
        sentFields(fields)
      }),
      MESSAGES,
    )
  })

  it('B20: a damaged batch of Kafka is read in part or refused, and its reading ends', () => {
    const messages = ['a', 'b', 'c'].map(value => ({
      ...{ topic: 't', timestamp: 1_000n, value: Buffer.from(value) },
      headers: new Map([[Buffer.from('x'), Buffer.from('y')]]),
    }))
    const { buffer } = kafkaClient.createRecordsBatch(messages as never, { producerId: 1n } as never)
    fc.assert(
      fc.property(damagedBytes(Buffer.from(buffer)), records => {
        // A broker checks a batch before it stores it, so this is damage on the way: an error may be any.
        try {
          const read = readBatches(kafkaClient, 't', 0, 0, { records, abortedTransactions: [] })
          expect(read.records.length).toBeLessThanOrEqual(records.length)
        } catch (error) {
          expect(error).toBeInstanceOf(Error)
        }
      }),
      MESSAGES,
    )
  })
})

describe('what was stored or exported and then changed', () => {
  const event = make.event({ channel: 'orders', payload: { amount: 5, items: [1, 2] }, headers: { a: 'b' } })
  const letter = make.letter({ event })

  it('P2: an event is read or refused', () => {
    const valid: unknown = JSON.parse(encodeEvent(event))
    fc.assert(
      fc.property(damagedJson(valid), value => readsOrRefuses(() => decodeEvent(JSON.stringify(value)))),
    )
    fc.assert(fc.property(hostileText, text => readsOrRefuses(() => decodeEvent(text))))
  })

  it('P2: a letter is read or refused', () => {
    const valid: unknown = JSON.parse(encodeLetter(letter))
    fc.assert(
      fc.property(damagedJson(valid), value => readsOrRefuses(() => decodeLetter(JSON.stringify(value)))),
    )
    fc.assert(fc.property(hostileText, text => readsOrRefuses(() => decodeLetter(text))))
  })

  it('P2: a letter in the header of a message is read or refused', () => {
    const { event: _, ...rest } = JSON.parse(encodeLetter(letter))
    fc.assert(
      fc.property(damagedJson(rest), value => {
        try {
          letterFromHeader(JSON.stringify(value), () => event)
        } catch (error) {
          // The caller takes the message for an ordinary one.
          expect(error).toBeInstanceOf(Error)
        }
      }),
    )
  })

  it('P2: a CloudEvent is read or refused, in both modes', () => {
    fc.assert(
      fc.property(damagedJson(toCloudEvent(event)), value =>
        readsOrRefuses(() => fromCloudEvent(value, defaults)),
      ),
    )
    const binary = fc.record({
      headers: fc.dictionary(hostileName, hostileText),
      body: hostileBytes,
    })
    fc.assert(
      fc.property(binary, input => readsOrRefuses(() => fromBinaryCloudEvent(input as never, defaults))),
    )
  })

  it('B17: a report or a command of another version is left out, and hides no other', () => {
    const report = {
      ...{ v: 1, id: 'i1', service: 'shop', host: 'h', pid: 1, startedAt: NOW, node: 'v24', version: '1' },
      ...{ consumers: [], sinks: [] },
    }
    const good = JSON.stringify(report)
    const row = { seenAt: NOW, leaseMs: 15_000, hasLeft: false }
    fc.assert(
      fc.property(damagedJson(report), value => {
        const bodies = [JSON.stringify(value), good]
        const all = instancesOf(
          bodies.map(body => ({ body, ...row })),
          NOW,
        )
        expect(all.map(each => each.report.id)).toContain('i1')
      }),
    )
    fc.assert(
      fc.property(hostileText, body => {
        commandRecords([{ body, sentAt: NOW, ttlMs: 5_000 } as never], NOW)
      }),
    )
  })
})

describe('what a caller sends', () => {
  it('E9: a cursor is one of its listing or is refused', () => {
    const listing = { name: 'letters', filter: { channel: 'orders' } }
    const isPosition = (value: unknown): value is string => typeof value === 'string'
    const valid = writeJsonCursor(listing, 'place')
    const cursor = fc.oneof(
      hostileText,
      damagedBytes(Buffer.from(valid)).map(bytes => bytes.toString()),
    )
    fc.assert(fc.property(cursor, text => readsOrRefuses(() => readJsonCursor(listing, text, isPosition))))
  })

  it('B13: a patch applies as a whole or is refused, and reaches nothing outside the payload', () => {
    const path = fc.oneof(
      fc.constantFrom(
        '',
        '/',
        '/a',
        '/a/0',
        '/a/-',
        '/__proto__/isAdmin',
        '/constructor/prototype/isAdmin',
        '/~2',
      ),
      hostileName.map(name => `/${name}`),
    )
    const operation = fc.record({
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
      path,
      from: path,
      value: fc.jsonValue({ maxDepth: 2 }),
    })
    const document = { a: [1, 2], b: { c: 'd' } }
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 4 }), patch => {
        const before = JSON.stringify(document)
        readsOrRefuses(() => applyPatch(document as JsonValue, patch as PatchOperation[]))
        expect(JSON.stringify(document)).toBe(before)
      }),
    )
  })

  it('F7: a config is read or refused with the place', () => {
    const valid = {
      ...{ store: 'sqlite:./lazaret.db', server: { port: 4444, tokens: [{ name: 'ann', role: 'admin' }] } },
      ...{ masks: ['/password'], brokers: ['amqp://localhost'], retention: { resolved: '7d' } },
    }
    fc.assert(
      fc.property(damagedJson(valid), value =>
        readsOrRefuses(() => parseConfig(JSON.stringify(value), 'lazaret.yaml', {})),
      ),
    )
    fc.assert(fc.property(hostileText, text => readsOrRefuses(() => parseConfig(text, 'lazaret.yaml', {}))))
  })

  it('E9: the answer of an OTLP receiver is read or reports nothing', () => {
    fc.assert(
      fc.property(hostileBytes, fc.constantFrom('json', 'protobuf'), (body, format) => {
        expect(readPartialSuccess(format, body).rejected).toBeGreaterThanOrEqual(0)
      }),
    )
  })
})
