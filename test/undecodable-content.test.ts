// The bytes of an undecodable message are shown to few people. Its fault is shown to all who may read dead letters.
import { describe, expect, it } from 'vitest'
import { decode as decodeKafka } from '../src/adapters/kafka/broker/wire/event-codec.ts'
import { header, OWN as KAFKA_HEADERS } from '../src/adapters/kafka/broker/wire/headers.ts'
import { decode as decodeNats } from '../src/adapters/nats/broker/wire/event-codec.ts'
import { OWN as NATS_HEADERS } from '../src/adapters/nats/broker/wire/headers.ts'
import { type ClaimedRow, OutboxDelivery } from '../src/adapters/postgres/broker/delivery.ts'
import { decode as decodeRabbitmq } from '../src/adapters/rabbitmq/broker/wire/event-codec.ts'
import { OWN as RABBITMQ_HEADERS } from '../src/adapters/rabbitmq/broker/wire/headers.ts'
import { decode as decodeRedis } from '../src/adapters/redis/broker/decode.ts'
import { SqliteDelivery } from '../src/adapters/sqlite/broker/delivery.ts'
import type { LazaretEvent } from '../src/core/event/event.ts'
import type { Undecodable } from '../src/ports/broker.ts'
import { type EventCodec, plainCodec } from '../src/ports/codec.ts'
import { createSealing } from '../src/runtime/sealing/sealing.ts'

const SECRET = 'hunter2secret'
const origin = { broker: 'b', topic: 'orders', partition: 0, offset: 1, timestamp: 1 }
const plain = plainCodec.events
const sealing = createSealing({ current: 'a', keys: { a: Buffer.alloc(32) } }).events
const foreignCodec: EventCodec = {
  encode: () => '',
  decode: text => {
    throw new TypeError(`cannot decode ${text}`)
  },
}

/** Bodies of which every decoder says something different. */
const BODIES = {
  'a bare word': SECRET,
  'a value that is not JSON': `{"pin":4711,"first_name":"Roswitha","amount":${SECRET}}`,
  'a comma too many': '{"first_name":"Roswitha",}',
  'text after the end': `{"pin":4711}${SECRET}`,
  'a text without an event': JSON.stringify(SECRET),
  'a number without an event': '4711',
  'an event with wrong fields': JSON.stringify({
    ...{ v: 1, specversion: SECRET, id: 4711, type: `${SECRET}\n`, channel: SECRET, source: `${SECRET} x` },
    ...{ key: 4711, time: SECRET, occurredAt: SECRET, headers: SECRET, data: 1, data_base64: SECRET },
  }),
}
const OWN_FIELDS = { kafka: KAFKA_HEADERS.event, nats: NATS_HEADERS.event }

type Decoded = LazaretEvent | Undecodable
const DECODERS: Readonly<Record<string, (body: string) => Decoded>> = {
  'Kafka as JSON': body => kafka(body, { 'content-type': 'application/json' }),
  'Kafka as a CloudEvent': body => kafka(body, { 'content-type': 'application/cloudevents+json' }),
  'Kafka as a binary CloudEvent': body => kafka(body, { ce_specversion: '1.0', ce_id: body, ce_time: body }),
  'Kafka with own fields': body => kafka('1', { [OWN_FIELDS.kafka]: body }),
  'NATS as JSON': body => nats(body, { 'content-type': 'application/json' }),
  'NATS as a CloudEvent': body => nats(body, { 'content-type': 'application/cloudevents+json' }),
  'NATS as a binary CloudEvent': body => nats(body, { 'ce-specversion': '1.0', 'ce-time': body }),
  'NATS with own fields': body => nats('1', { [OWN_FIELDS.nats]: body }),
  'RabbitMQ as JSON': body => rabbitmq(body, { contentType: 'application/json' }),
  'RabbitMQ as a CloudEvent': body => rabbitmq(body, { contentType: 'application/cloudevents+json' }),
  'RabbitMQ as a binary CloudEvent': body =>
    rabbitmq(body, { headers: { 'cloudEvents:specversion': '1.0', 'cloudEvents:time': body } }),
  'RabbitMQ as our own': body => rabbitmq(body, { appId: 'lazaret/1' }),
  'RabbitMQ with packed headers': body =>
    rabbitmq('1', { appId: 'lazaret/1', headers: { [RABBITMQ_HEADERS.packed]: body } }),
  Redis: body => redis(body, plain),
  'Redis, sealed': body => redis(body, sealing),
  'Redis with another codec': body => redis(body, foreignCodec),
  Postgres: body => postgres([1, 1, 0, 0, body, null, `${body}\n`, null, { a: 4711 } as never, 1, null]),
  'Postgres, sealed': body =>
    postgres([
      1,
      1,
      0,
      0,
      'id',
      null,
      't',
      1,
      {},
      1,
      [null, null, false, null, null, null, null, body, null],
    ]),
  SQLite: body => sqlite(body, plain),
  'SQLite, sealed': body => sqlite(body, sealing),
  'SQLite with another codec': body => sqlite(body, foreignCodec),
}

describe.each(Object.entries(DECODERS))('E20: %s', (_, decode) => {
  it.each(Object.entries(BODIES))('the fault of %s quotes nothing of it', (_, body) => {
    const content = decode(body)
    if (!('raw' in content)) return
    expect(content.problem).not.toBe('')
    expect(content.problem).not.toMatch(/hunter2|secret|Roswitha|4711/)
  })
})

it('E20: each decoder finds a body undecodable', () => {
  for (const [name, decode] of Object.entries(DECODERS))
    expect(
      Object.values(BODIES).some(body => 'raw' in decode(body)),
      name,
    ).toBe(true)
})

it('P2: the fault still says what is wrong, and where', () => {
  const problem = (name: string, body: string) => (DECODERS[name]!(body) as Undecodable).problem
  expect(problem('Kafka as JSON', SECRET)).toBe('Unexpected token in JSON at position 0')
  expect(problem('Kafka as JSON', '{"a":1,"b":NaN}')).toBe('Unexpected token in JSON at position 11')
  expect(problem('Kafka as JSON', '{"a":1,}')).toMatch(
    'Expected double-quoted property name in JSON at position 7',
  )
  expect(problem('Redis', SECRET)).toMatch(
    'text: got text that is not JSON (Unexpected token in JSON at position 0); give',
  )
  expect(problem('Redis', '4711')).toMatch('event: got a number; give a JSON object')
  expect(problem('Redis', JSON.stringify({ v: 2 }))).toMatch('written by a newer Lazaret')
  const { problem: bytes } = kafka(Buffer.from([0xff]), { 'content-type': 'application/json' }) as Undecodable
  expect(bytes).toBe('it is not valid UTF-8')
})

function kafka(body: string | Buffer, headers: Readonly<Record<string, string>>): Decoded {
  const pairs = Object.entries(headers).map(([name, value]) => header(name, value))
  return decodeKafka({ key: null, value: Buffer.from(body), headers: pairs }, 'orders', origin)
}

function nats(body: string, headers: Readonly<Record<string, string>>): Decoded {
  const message = { subject: 'orders', data: Buffer.from(body), headers: Object.entries(headers) }
  return decodeNats(message as never, 'orders', { ...origin, stream: 'ORDERS' })
}

function rabbitmq(body: string, properties: object): Decoded {
  return decodeRabbitmq({ content: Buffer.from(body), properties } as never, 'orders', origin)
}

function redis(body: string, codec: EventCodec): Decoded {
  return decodeRedis(['event', body], { channel: 'orders', from: '1-0', codec })
}

function postgres(row: ClaimedRow): Decoded {
  return new OutboxDelivery(row, { channel: 'orders', number: 1, owner: 1, broker: 'b' }, sealing).content
}

function sqlite(body: string, codec: EventCodec): Decoded {
  return new SqliteDelivery(origin, 'orders', [1, 1, 1, body, 0, 0, null, null] as never, codec).content
}
