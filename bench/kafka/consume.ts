import { Consumer, MessagesStreamFallbackModes, MessagesStreamModes } from '@platformatic/kafka'
import { Kafka, logLevel } from 'kafkajs'
import { kafka as lazaretKafka } from '../../src/adapters/kafka/index.ts'
import { createConsumer } from '../../src/index.ts'
import type { Round as CommonRound } from '../harness/rates.ts'
import { counting } from '../rabbitmq/consume.ts'
import { loadConfluent } from './confluent.ts'
import type { Topics } from './topics.ts'

export interface Round extends CommonRound {
  readonly topics: Topics
}

/** Messages per second. */
export type Candidate = (round: Round) => Promise<number>

/** Gets the payload, as a handler of ours does. */
async function handle(_payload: unknown): Promise<void> {}

/** Between two commits, for those that commit by time. */
const COMMIT_MS = 200

async function filled({ topics, messages }: Round, name: string): Promise<string> {
  const topic = await topics.create(topics.newName(name))
  await topics.fill(topic, messages)
  return topic
}

/** Without attempt counts, retries and a bound of what is open; a failed message is lost. */
const raw: Candidate = async round => {
  const topic = await filled(round, 'raw')
  const consumer = new Consumer({ ...round.topics.options(), groupId: topic })
  const stream = await consumer.consume({
    topics: [topic],
    mode: MessagesStreamModes.COMMITTED,
    fallbackMode: MessagesStreamFallbackModes.EARLIEST,
    autocommit: COMMIT_MS,
    maxWaitTime: 100,
    // What Java's client fetches. With its own default it has all messages before it gives out the first.
    maxBytesPerPartition: 1_048_576,
  })
  const read = async () => {
    for await (const { value } of stream) {
      await handle(JSON.parse(value.toString()))
      round.meter.tick()
    }
  }
  void read()
  const rate = await round.meter.rate()
  await consumer.close(true)
  await round.topics.remove(topic)
  return rate
}

const CONCURRENCY = 1_000

const lazaret: Candidate = async round => {
  const topic = await filled(round, 'lazaret')
  const consumer = createConsumer({
    broker: lazaretKafka({ brokers: round.topics.brokers, from: 'earliest' }),
    channel: topic,
    concurrency: CONCURRENCY,
    prefetch: CONCURRENCY * 3,
    observer: counting(),
    handle: async () => round.meter.tick(),
  })
  await consumer.start()
  const rate = await round.meter.rate()
  await consumer.close()
  const reader = lazaretKafka({ brokers: round.topics.brokers })
  const left = await reader.depth!(topic, topic)
  await reader.close()
  if (left !== 0) throw new Error(`bench: ${left} events are left`)
  await round.topics.remove(topic)
  return rate
}

const kafkajs: Candidate = async round => {
  const topic = await filled(round, 'kafkajs')
  const kafka = new Kafka({ clientId: 'bench', brokers: round.topics.brokers, logLevel: logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId: topic, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommitInterval: COMMIT_MS,
    eachBatch: async ({ batch, resolveOffset }) => {
      for (const { offset, value } of batch.messages) {
        await handle(JSON.parse(String(value)))
        resolveOffset(offset)
        round.meter.tick()
      }
    },
  })
  const rate = await round.meter.rate()
  await consumer.disconnect()
  await round.topics.remove(topic)
  return rate
}

const confluent: Candidate = async round => {
  const { Kafka: ConfluentKafka, logLevel: levels } = (await loadConfluent())!
  const topic = await filled(round, 'confluent')
  const kafka = new ConfluentKafka({
    kafkaJS: { clientId: 'bench', brokers: round.topics.brokers, logLevel: levels.NOTHING },
  })
  const consumer = kafka.consumer({
    kafkaJS: { groupId: topic, fromBeginning: true, autoCommit: true, autoCommitInterval: COMMIT_MS },
  })
  await consumer.connect()
  await consumer.subscribe({ topic })
  await consumer.run({
    eachBatch: async ({ batch }) => {
      for (const { value } of batch.messages) {
        await handle(JSON.parse(String(value)))
        round.meter.tick()
      }
    },
  })
  const rate = await round.meter.rate()
  await consumer.disconnect()
  await round.topics.remove(topic)
  return rate
}

export const CONSUMERS: Readonly<Record<string, Candidate>> = {
  'raw client': raw,
  lazaret,
  kafkajs,
  confluent,
}
