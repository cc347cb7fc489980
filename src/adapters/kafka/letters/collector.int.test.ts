import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findKafka, type KafkaService } from '../../../../test/services/kafka.ts'
import { OutsideKafka, type OutsideRecord } from '../../../../test/support/outside-kafka.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { systemClock } from '../../../ports/clock.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import { kafkaCollector } from './collector.ts'

const found = await findKafka()
const why = found.found ? '' : ` (skipped: ${found.why})`
const timing = new TestTiming({})

let server: KafkaService
let outside: OutsideKafka
beforeAll(async () => {
  if (!found.found) return
  server = await found.start()
  outside = new OutsideKafka(server.brokers)
})
afterAll(async () => {
  await outside?.close()
  await server?.close()
})

function header(name: string, value: string | Buffer | null): readonly [Buffer, Buffer | null] {
  return [Buffer.from(name), typeof value === 'string' ? Buffer.from(value) : value]
}

/** A service with Spring Kafka: a topic with its dead-letter topic. */
async function shop(partitions = 3) {
  const topic = uniqueName('orders')
  const deadTopic = `${topic}.DLT`
  await outside.createTopic(topic, partitions)
  await outside.createTopic(deadTopic, partitions)
  /** The record as DeadLetterPublishingRecoverer passes it on. */
  const dead = (record: Partial<OutsideRecord>): OutsideRecord => ({
    partition: 0,
    key: null,
    value: Buffer.from('{}'),
    ...record,
    topic: deadTopic,
    headers: [
      ...(record.headers ?? []),
      header('kafka_dlt-original-topic', topic),
      header('kafka_dlt-original-partition', Buffer.from([0, 0, 0, record.partition ?? 0])),
      header('kafka_dlt-original-consumer-group', 'billing'),
      header('kafka_dlt-exception-fqcn', 'com.shop.OutOfStock'),
      header('kafka_dlt-exception-message', 'nothing left'),
    ],
  })
  return { topic, deadTopic, dead }
}

function collecting(topics: readonly string[], options: object = {}) {
  const store = memoryDeadLetters()
  const errors: unknown[] = []
  const name = uniqueName('kafka')
  const open = () =>
    kafkaCollector({
      brokers: server.brokers,
      name,
      topics,
      handledAfterMs: 300,
      pollIntervalMs: 100,
      onError: error => errors.push(error),
      ...options,
    })
  const letters = async (count: number): Promise<readonly DeadLetter[]> => {
    await timing.eventually(async () => (await store.stats()).count >= count, `${count} letters`)
    return (await store.list({ limit: 500 })).letters
  }
  return { store, open, errors, letters, name }
}

/** Sends a letter back, as a replay does. */
async function replay(
  store: ReturnType<typeof memoryDeadLetters>,
  collector: ReturnType<typeof kafkaCollector>,
  { id, handler }: DeadLetter,
  replayId: string,
) {
  await store.change(id, { to: 'replaying', at: systemClock.now(), replayId })
  const { event, origin, replays } = (await store.get(id))!
  const headers = replayHeaders(event, { attempt: replays, replayId, letterId: id, handler })
  await collector.send([{ ...event, headers }], origin)
}

describe.runIf(found.found)(`a collector of Kafka's dead letters${why}`, () => {
  it('B20: sends back a record byte for byte, with its key, and with headers that repeat or are null', async () => {
    const { topic, deadTopic, dead } = await shop()
    const { store, open, errors, letters } = collecting([deadTopic])
    const collector = open()
    const records = [
      {
        partition: 2,
        key: Buffer.from([0, 255, 3]),
        value: Buffer.from([1, 2, 254]),
        headers: [header('a', 'x'), header('a', null), header('a', Buffer.from([255])), header('ä b', '')],
      },
      { partition: 1, key: Buffer.from('customer'), value: null, headers: [] },
      {
        partition: 0,
        key: Buffer.alloc(0),
        value: Buffer.from('{ "price": 1.0 }'),
        headers: [header('t', 'eu')],
      },
    ]
    await outside.write(records.map(dead))
    collector.start(store)
    const collected = await letters(3)
    for (const letter of collected) {
      expect(letter).toMatchObject({
        channel: topic,
        handler: 'billing',
        state: 'dead',
        cycle: { failure: { name: 'com.shop.OutOfStock', message: 'nothing left' } },
        origin: { topic, collectedFrom: deadTopic, writtenBy: 'spring' },
      })
      expect(collector.routeOf?.(letter, undefined)).toEqual({ kind: 'durable', via: collector.name })
      await replay(store, collector, letter, 'r1')
    }
    const returned = await outside.records(topic)
    for (const record of records) {
      const same = returned.find(each => each.partition === record.partition)!
      expect([same.key, same.value]).toEqual([record.key, record.value])
      expect(same.headers.slice(0, record.headers.length)).toEqual(record.headers)
    }
    await collector.close()
    expect(errors).toEqual([])
  })

  it('F8: stops, leaves the records that arrive meanwhile, counts them, and goes on where it was', async () => {
    const { deadTopic, dead } = await shop()
    const { store, open, letters, name } = collecting([deadTopic])
    const first = open()
    first.start(store)
    await outside.write([dead({ partition: 1 })])
    await letters(1)
    await timing.eventually(async () => (await first.depths())[0]?.depth === 0, 'the offset is committed')
    await first.stop()
    await outside.write([dead({ partition: 1 }), dead({ partition: 2 })])
    expect(await first.depths()).toEqual([{ queue: deadTopic, depth: 2 }])
    expect((await store.stats()).count).toBe(1)
    await first.close()
    // Another process continues. The letter of the first one is gone, so that it would be seen again.
    const [{ id }] = (await letters(1)) as [DeadLetter]
    await store.delete(id)
    const second = open()
    second.start(store)
    await letters(2)
    expect(await store.get(id)).toBeUndefined()
    await second.close()
    const groups = await outside.admin.listGroups({ types: ['classic', 'consumer'] })
    expect([...groups.keys()].filter(group => group.includes(name))).toEqual([`lazaret-collector.${name}`])
  })

  it('B14: a replay that fails again is the next cycle of its letter, and one that does not is resolved', async () => {
    const { topic, deadTopic, dead } = await shop(1)
    const { store, open, letters } = collecting([deadTopic])
    const collector = open()
    collector.start(store)
    await outside.write([dead({ value: Buffer.from('1') }), dead({ value: Buffer.from('2') })])
    const [one, two] = (await letters(2)) as [DeadLetter, DeadLetter]
    await replay(store, collector, one, 'r1')
    const [again] = await outside.records(topic)
    await outside.write([dead(again!)])
    const stored = async (id: string) => (await store.get(id))!
    await timing.eventually(async () => (await stored(one.id)).cycle.number === 1, 'the second cycle')
    expect(await stored(one.id)).toMatchObject({ state: 'dead', replays: 1, cycle: { replayId: 'r1' } })
    await replay(store, collector, two, 'r2')
    await timing.eventually(async () => (await stored(two.id)).state === 'resolved', 'handled')
    expect((await store.stats()).count).toBe(2)
    await collector.close()
  })

  it('B20: finds topics by pattern, also those that come later, and partitions that are added', async () => {
    const prefix = uniqueName('later')
    const { store, open, letters } = collecting([`${prefix}.*`])
    const collector = open()
    collector.start(store)
    const topic = `${prefix}.orders.dlq`
    const record = { topic, key: null, value: Buffer.from('1'), headers: [] }
    await outside.createTopic(topic, 1)
    await outside.write([{ ...record, partition: 0 }])
    await letters(1)
    await outside.addPartitions(topic, 2)
    // A client that knew the topic before would still write to its first partition.
    const later = new OutsideKafka(server.brokers)
    await later.write([{ ...record, partition: 1 }])
    await later.close()
    const both = await letters(2)
    expect(both.map(({ origin }) => origin['collectedPartition']).sort()).toEqual([0, 1])
    await collector.close()
  })

  it('E21: says which letters a topic lost before they were collected, and collects the others', async () => {
    const { deadTopic, dead } = await shop(1)
    const { store, open, errors, letters } = collecting([deadTopic])
    await outside.write([dead({}), dead({})])
    const first = open()
    first.start(store)
    await letters(2)
    await timing.eventually(async () => (await first.depths())[0]?.depth === 0, 'the offset is committed')
    await first.close()
    await outside.write([dead({}), dead({}), dead({})])
    await outside.admin.deleteRecords({
      topics: [{ name: deadTopic, partitions: [{ partition: 0, offset: 4n }] }],
    })
    const second = open()
    second.start(store)
    await letters(3)
    await second.close()
    expect(errors.map(String)).toEqual([
      expect.stringContaining('partition 0 has no record at 2, so the collector continues at 4'),
    ])
  })

  it('E21: a topic that is created again is collected from its beginning, and reported', async () => {
    const { deadTopic, dead } = await shop(1)
    const { store, open, letters, errors } = collecting([deadTopic])
    const collector = open()
    collector.start(store)
    await outside.write([dead({}), dead({}), dead({})])
    await letters(3)
    await timing.eventually(async () => (await collector.depths())[0]?.depth === 0, 'the offset is committed')
    await outside.recreateTopic(deadTopic, 1)
    await timing.eventually(
      () =>
        outside.write([dead({}), dead({})]).then(
          () => true,
          () => false,
        ),
      'writing',
    )
    await letters(5)
    await collector.close()
    expect(errors.map(String)).toContainEqual(
      expect.stringContaining(`topic '${deadTopic}': was deleted and created again`),
    )
  })

  it('E21: a topic that is created again while no collector runs is collected from its beginning', async () => {
    const { deadTopic, dead } = await shop(1)
    const { store, open, letters } = collecting([deadTopic])
    const first = open()
    first.start(store)
    await outside.write([dead({}), dead({})])
    await letters(2)
    await timing.eventually(async () => (await first.depths())[0]?.depth === 0, 'the offset is committed')
    await first.close()
    await outside.recreateTopic(deadTopic, 1)
    await outside.write([dead({}), dead({}), dead({})])
    const second = open()
    second.start(store)
    await letters(5)
    await second.close()
  })
})
