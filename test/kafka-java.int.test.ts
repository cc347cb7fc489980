import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { kafka as kafkaBroker, kafkaCollector } from '../src/adapters/kafka/index.ts'
import { memoryDeadLetters } from '../src/adapters/memory/index.ts'
import { replayHeaders } from '../src/core/event/replay-headers.ts'
import { fixed } from '../src/core/retry/fixed.ts'
import { createConsumer, createEvent, type LazaretEvent } from '../src/index.ts'
import { systemClock } from '../src/ports/clock.ts'
import { TestTiming } from '../src/testing/conformance/harness.ts'
import { findKafka, type KafkaService } from './services/kafka.ts'
import { consumeByJava, type JavaRecord, produceByJava } from './services/kafka-java.ts'
import { OutsideKafka } from './support/outside-kafka.ts'

const kafka = await findKafka()
const why = kafka.found ? '' : kafka.why

const PARTITIONS = 3
const timing = new TestTiming({})
const STEP_MS = 1_000
/** Longer than the step, so that a retry waits in the topic of the step also when the clock has moved on. */
const DELAY_MS = 1_200
const text = (value: string) => Buffer.from(value)
const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

/** Messages of Java programs: a CloudEvent, JSON, bytes, a deletion, a repeated header, a header without a value. */
const RECORDS: readonly Required<JavaRecord>[] = [
  {
    key: text('customer-1'),
    value: text('{"total":12}'),
    headers: [
      ['ce_specversion', text('1.0')],
      ['ce_id', text('a-1')],
      ['ce_type', text('order.placed')],
      ['ce_source', text('/java')],
      ['content-type', text('application/json')],
      ['tenant', text('blue')],
    ],
    partition: 0,
    timestamp: 1_700_000_000_001,
  },
  { key: null, value: text('{"total":13}'), headers: [], partition: 0, timestamp: 1_700_000_000_002 },
  { key: ALL_BYTES, value: ALL_BYTES, headers: [], partition: 0, timestamp: 1_700_000_000_003 },
  { key: text('customer-2'), value: null, headers: [], partition: 0, timestamp: 1_700_000_000_004 },
  {
    key: text(''),
    value: text('plain words'),
    headers: [
      ['trace', text('one')],
      ['trace', ALL_BYTES],
      ['empty', null],
    ],
    partition: 0,
    timestamp: 1_700_000_000_005,
  },
]

describe.skipIf(why !== '')(`Kafka beside Java's client ${why}`, () => {
  let service: KafkaService
  beforeAll(async () => {
    service = kafka.found ? await kafka.start() : (undefined as never)
  })
  afterAll(() => service?.close())

  const open = () =>
    kafkaBroker({
      brokers: service.brokers,
      partitions: PARTITIONS,
      from: 'earliest',
      retryStepsMs: [STEP_MS],
    })

  /** Handles what Java writes to the topic of a channel, until so many attempts have ended. */
  async function handleJava(
    channel: string,
    attempts: number,
    handle: (event: LazaretEvent) => void,
  ): Promise<void> {
    const all = Promise.withResolvers<void>()
    let ended = 0
    const consumer = createConsumer({
      broker: open(),
      channel,
      breaker: 'off',
      retryLimit: 'off',
      inProcessWaitMs: 0,
      retry: { attempts, backoff: fixed({ delayMs: DELAY_MS, jitter: 'none' }) },
      observer: {
        eventProcessed: () => {
          if (++ended === RECORDS.length * attempts) all.resolve()
        },
      },
      handle: async event => handle(event),
    })
    await consumer.start()
    await produceByJava(service.brokers, channel, RECORDS)
    await all.promise
    await consumer.close()
  }

  it('"Java produces with keys, headers, null values and binary, our consumer reads"', async () => {
    const events = new Map<string, LazaretEvent>()
    await handleJava('reading', 1, event => void events.set(event.id, event))
    const parts = ({ type, key, payload, headers }: LazaretEvent) => ({ type, key, payload, headers })
    expect(Object.fromEntries([...events].map(([id, event]) => [id, parts(event)]))).toEqual({
      'a-1': { type: 'order.placed', key: 'customer-1', payload: { total: 12 }, headers: { tenant: 'blue' } },
      'reading/0/1@1700000000002': { type: 'reading', key: undefined, payload: { total: 13 }, headers: {} },
      'reading/0/2@1700000000003': {
        type: 'reading',
        key: undefined,
        payload: new Uint8Array(ALL_BYTES),
        headers: {},
      },
      'reading/0/3@1700000000004': { type: 'reading', key: 'customer-2', payload: null, headers: {} },
      'reading/0/4@1700000000005': {
        type: 'reading',
        key: undefined,
        payload: new Uint8Array(text('plain words')),
        headers: { empty: '' },
      },
    })
  })

  it('"byte-equal": a message of Java keeps its bytes in the retry topic and as a dead letter', async () => {
    await handleJava('failing', 2, () => {
      throw new Error('the card was declined')
    })
    for (const topic of ['failing.failing.retry.1s', 'failing.failing.dlq']) {
      const records = await consumeByJava(service.brokers, topic, RECORDS.length)
      expect(records.map(originalOf).sort((a, b) => a.timestamp - b.timestamp)).toEqual(RECORDS)
    }
  })

  it('"ours publishes, Java reads": bytes, CloudEvents headers, and the partition that Java would choose', async () => {
    const keys = Array.from({ length: 50 }, (_, number) => `customer-${number}`)
    const events = keys.map((key, number) =>
      createEvent({
        channel: 'publishing',
        type: 'order.placed',
        source: '/shop',
        key,
        headers: { tenant: 'grün' },
        payload: number % 2 === 0 ? { number } : new Uint8Array(ALL_BYTES),
      }),
    )
    const broker = open()
    await broker.publish(events)
    await broker.close()
    const read = await consumeByJava(service.brokers, 'publishing', keys.length)
    await produceByJava(
      service.brokers,
      'publishing',
      keys.map(key => ({ key: text(key), value: null, headers: [] })),
    )
    const byJava = (await consumeByJava(service.brokers, 'publishing', 2 * keys.length)).filter(
      ({ value }) => value === null,
    )
    const partitions = new Map(byJava.map(({ key, partition }) => [String(key), partition]))
    expect(read).toHaveLength(keys.length)
    for (const { key, value, headers, partition } of read) {
      const event = events.find(each => each.key === String(key))!
      expect(value).toEqual(
        event.payload instanceof Uint8Array ? ALL_BYTES : text(JSON.stringify(event.payload)),
      )
      expect(Object.fromEntries(headers.map(([name, bytes]) => [name, String(bytes)]))).toMatchObject({
        ce_specversion: '1.0',
        ce_id: event.id,
        ce_type: 'order.placed',
        ce_source: '/shop',
        ce_time: new Date(event.occurredAt).toISOString(),
        tenant: 'grün',
      })
      expect(partition).toBe(partitions.get(String(key)))
    }
  })

  it('"a Spring-style dead letter": what Java dead-letters goes back to its topic byte for byte', async () => {
    const outside = new OutsideKafka(service.brokers)
    for (const topic of ['billing', 'billing.DLT']) await outside.createTopic(topic, PARTITIONS)
    await outside.close()
    const bySpring: JavaRecord['headers'] = [
      ['kafka_dlt-original-topic', text('billing')],
      ['kafka_dlt-original-partition', Buffer.from([0, 0, 0, 0])],
      ['kafka_dlt-original-consumer-group', text('invoices')],
      ['kafka_dlt-exception-fqcn', text('com.shop.OutOfStock')],
      ['kafka_dlt-exception-message', text('nothing left')],
    ]
    const dead = RECORDS.map(record => ({ ...record, headers: [...record.headers, ...bySpring] }))
    await produceByJava(service.brokers, 'billing.DLT', dead)
    const store = memoryDeadLetters()
    const collector = kafkaCollector({ brokers: service.brokers, topics: ['billing.DLT'] })
    collector.start(store)
    await timing.eventually(
      async () => (await store.stats()).count === RECORDS.length,
      'every letter is stored',
    )
    for (const { id, handler } of (await store.list({ limit: 10 })).letters) {
      await store.change(id, { to: 'replaying', at: systemClock.now(), replayId: 'r1' })
      const { event, origin, replays } = (await store.get(id))!
      const headers = replayHeaders(event, { attempt: replays, replayId: 'r1', letterId: id, handler })
      await collector.send([{ ...event, headers }], origin)
    }
    const returned = await consumeByJava(service.brokers, 'billing', RECORDS.length)
    await collector.close()
    const bytesOf = ({ key, value, headers, partition }: Required<JavaRecord>, count: number) =>
      JSON.stringify({ key, value, partition, headers: headers.slice(0, count) })
    for (const record of RECORDS) {
      const { length } = record.headers
      expect(returned.map(each => bytesOf(each, length))).toContain(bytesOf(record, length))
    }
  })
})

/** The record as its program wrote it. Its time is in a header of ours, because retention counts from the time of a record. */
function originalOf(record: Required<JavaRecord>): Required<JavaRecord> {
  const ours = new Map(record.headers.filter(([name]) => name.startsWith('lazaret-')))
  const timestamp =
    ours.get('lazaret-original-timestamp') ?? JSON.parse(String(ours.get('lazaret-log'))).timestamp
  const headers = record.headers.filter(([name]) => !ours.has(name))
  return { ...record, timestamp: Number(timestamp), headers }
}
