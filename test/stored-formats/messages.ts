import { instancesOf } from '../../src/adapter-kit/fleet/check-report.ts'
import { decodeProgress, encodeProgress, progressAt } from '../../src/adapters/kafka/broker/group/progress.ts'
import { heldMessage, readHeld, waitingRecord } from '../../src/adapters/kafka/broker/ordered/held-record.ts'
import * as kafka from '../../src/adapters/kafka/broker/wire/event-codec.ts'
import { letterRecord } from '../../src/adapters/kafka/broker/wire/letter.ts'
import * as kafkaLog from '../../src/adapters/kafka/broker/wire/record-log.ts'
import { readLetter as readKafkaLetter } from '../../src/adapters/kafka/letters/own-letter.ts'
import * as nats from '../../src/adapters/nats/broker/wire/event-codec.ts'
import { letterHeaders } from '../../src/adapters/nats/broker/wire/letter.ts'
import * as natsLog from '../../src/adapters/nats/broker/wire/message-log.ts'
import { readLetter as readNatsLetter } from '../../src/adapters/nats/letters/own-letter.ts'
import * as amqp from '../../src/adapters/rabbitmq/broker/wire/event-codec.ts'
import {
  letterProperties,
  readLetter as readAmqpLetter,
} from '../../src/adapters/rabbitmq/broker/wire/letter.ts'
import * as amqpLog from '../../src/adapters/rabbitmq/broker/wire/message-log.ts'
import type { AmqpMessage, AmqpProperties } from '../../src/adapters/rabbitmq/connection/amqp.ts'
import type { OpenAlert } from '../../src/core/alert/alert.ts'
import { keptAlertsText, readKeptAlerts } from '../../src/core/alert/kept-alerts.ts'
import type { InstanceReport } from '../../src/ports/fleet.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { asJson } from './stored-format.ts'

// What Lazaret leaves in brokers that are not stores, in the file of open alerts and in the fleet: as JSON, bytes as base64.

const START = Date.parse('2026-11-17T12:00:00Z')
const TOPIC_ID = 'a1b2c3d4-0000-0000-0000-000000000000'
const BROKERS = ['rabbitmq', 'kafka', 'nats'] as const
const KINDS = ['event', 'bytes', 'retry', 'letter'] as const

type Kind = (typeof KINDS)[number]
type Messages = Readonly<Record<Kind, unknown>>

/** The messages of each broker: an event, one whose payload is bytes, an event that waits for its retry, and a dead letter. */
export type StoredMessages = Readonly<Record<(typeof BROKERS)[number], Messages>> & {
  readonly held: unknown
  readonly progress: string
  readonly alerts: string
  readonly report: string
}

function samples() {
  const make = createFactory({ clock: new FakeClock(START) })
  const fields = { key: 'customer-1', idempotencyKey: 'charge-1', source: '/shop', channel: 'orders' }
  const event = make.event({ ...fields, headers: { 'x-trace': 'žluť' }, payload: { total: 5, tags: [null] } })
  const history = [make.attempt(1, { delayMs: 100 })]
  return {
    event,
    bytes: make.event({ channel: 'orders', payload: new Uint8Array([0, 127, 255]) }),
    log: { started: 2, ended: 1, history },
    letter: make.letter({ event, handler: 'bill', attempts: history }),
    wait: { notBefore: START + 5_000, waitMs: 5_000 },
  }
}

/** Everything as the current version writes it. */
export function writeMessages(): StoredMessages {
  const { event, bytes, log, letter, wait } = samples()
  const amqpMessage = (outgoing: { readonly content: Buffer; readonly properties: AmqpProperties }) => ({
    ...outgoing,
    fields: { exchange: 'orders', routingKey: 'placed', redelivered: false },
  })
  const sent = amqpMessage(amqp.encodeEvent(event, 'orders'))
  const origin = { exchange: 'orders', routingKey: 'placed' }
  const retried = amqpLog.withLog(sent as AmqpMessage, origin, { ...log, isSuspected: false }, wait)
  const record = kafka.encodeEvent(event, 'orders')
  const place = { topic: 'orders', partition: 1, offset: 7, timestamp: START }
  const message = { subject: 'orders.placed', ...nats.encodeEvent(event) }
  const inStream = { stream: 'ORDERS', subject: 'orders.placed', offset: 7, timestamp: START }
  const heldState = { line: 'customer-1', place: 7, topic: 'a1b2c3d4', firstPlace: 0, id: event.id, ...wait }
  const all = {
    rabbitmq: {
      event: sent,
      bytes: amqpMessage(amqp.encodeEvent(bytes, 'orders')),
      retry: { ...sent, properties: retried },
      letter: { ...sent, properties: letterProperties(sent.properties, event, letter) },
    },
    kafka: {
      event: record,
      bytes: kafka.encodeEvent(bytes, 'orders'),
      retry: kafkaLog.withLog(record, place, log, wait),
      letter: letterRecord(record, event, place, letter),
    },
    nats: {
      event: message,
      bytes: { subject: 'orders.placed', ...nats.encodeEvent(bytes) },
      retry: { ...message, headers: natsLog.headersWithLog(message.headers, inStream, log, wait) },
      letter: { ...message, headers: letterHeaders(message.headers, event, inStream, letter, 'whole') },
    },
    held: waitingRecord('customer-1:7', heldState, record, place, log),
    progress: encodeProgress(
      { ...progressAt(5), settled: [[7, 9]], upTo: 20, crashes: new Map([[6, 2]]), running: 6 },
      TOPIC_ID,
    ),
    alerts: keptAlertsText([ALERT]),
    report: JSON.stringify(REPORT),
  }
  return toStored(all) as StoredMessages
}

/** What the current version reads from it. */
export function readMessages(stored: StoredMessages): unknown {
  const given = withBytes(stored) as StoredMessages
  const of = (broker: (typeof BROKERS)[number], read: (message: never) => unknown) =>
    Object.fromEntries(KINDS.map(kind => [kind, read(given[broker][kind] as never)]))
  const held = given.held as kafka.EventRecord
  const place = { topic: 'orders', partition: 0, offset: 0, timestamp: START, bytes: 0 }
  const inStream = { stream: 'ORDERS', sequence: 1, storedAt: START }
  const { crashes, ...progress } = decodeProgress(5, given.progress, TOPIC_ID)!
  const row = { body: given.report, seenAt: START, leaseMs: 15_000, hasLeft: false }
  return toStored({
    rabbitmq: of('rabbitmq', (message: AmqpMessage) => ({
      event: amqp.decode(message, 'orders', {}),
      log: amqpLog.readLog(message.properties.headers ?? {}),
      waitMs: amqpLog.readWaitMs(message.properties.headers ?? {}, START),
      letter: readAmqpLetter(message),
    })),
    kafka: of('kafka', (record: kafka.EventRecord) => ({
      event: kafka.decode({ ...record, ...place }, 'orders', {}),
      log: kafkaLog.readLog('kafka', { ...record, ...place }),
      letter: readKafkaLetter(record),
    })),
    nats: of('nats', (message: Parameters<typeof nats.decode>[0]) => ({
      event: nats.decode(message, 'orders', {}),
      log: natsLog.readLog('nats', message, inStream, START),
      letter: readNatsLetter(message),
    })),
    held: { state: readHeld(held), event: kafka.decode({ ...heldMessage(held), ...place }, 'orders', {}) },
    progress: { ...progress, crashes: [...crashes] },
    alerts: readKeptAlerts(given.alerts),
    instances: instancesOf([row], START),
  })
}

/** As JSON. A Buffer turns itself into a list of numbers before `asJson` sees it. */
function toStored(value: unknown): unknown {
  return asJson(plain(value))
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]))
}

/** The reverse of `toStored`. */
function withBytes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBytes)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const [only] = entries
  if (entries.length === 1 && only?.[0] === 'base64') return Buffer.from(only[1], 'base64')
  return Object.fromEntries(entries.map(([name, inner]) => [name, withBytes(inner)]))
}

const ALERT: OpenAlert = {
  key: 'breaker_opened orders/bill',
  kind: 'breaker_opened',
  severity: 'error',
  facts: { title: 'The breaker of orders/bill is open', summary: '5 failures', channel: 'orders' },
  since: START,
  lastSeenAt: START + 1,
  factsAt: START + 1,
  toldAt: START,
  count: 2,
  untold: 1,
  phase: { is: 'told' },
} as OpenAlert

const REPORT: InstanceReport = {
  ...{ v: 1, id: 'i-1', service: 'shop', version: '2.4.1', host: 'web-1', pid: 7, startedAt: START },
  consumers: [
    {
      ...{ channel: 'orders', handler: 'bill', broker: 'kafka', breaker: 'closed', paused: ['manual'] },
      ...{
        perMinute: 60,
        failureRate: 0.5,
        active: 1,
        waiting: 2,
        lastProcessedAt: START,
        lag: 3,
        hasSchema: true,
      },
    } as InstanceReport['consumers'][number],
  ],
  sinks: [
    {
      ...{ name: 'crm', channel: 'events', breaker: 'open', buffered: 3, inFlight: 1, retrying: 1 },
      ...{ delivered: 9, gaveUp: 1, lastDeliveredAt: START },
    },
  ],
}
