import { Kafka, logLevel } from 'kafkajs'
import { kafka as lazaretKafka } from '../../src/adapters/kafka/index.ts'
import { createEvent } from '../../src/index.ts'
import { BODY } from '../harness/body.ts'
import { loadConfluent } from './confluent.ts'
import type { Candidate, Round } from './consume.ts'
import { BATCH, type BenchMessage, batchOf, toRaw } from './topics.ts'

// Everybody waits for all replicas, with an idempotent producer, and sends one batch of 1000 after the other. The batch is
// made beforehand and not measured. Encoding is part of publishing.

async function publishing<M>(
  { topics, messages }: Round,
  topic: string,
  make: (batch: BenchMessage[]) => M,
  send: (made: M) => Promise<unknown>,
): Promise<number> {
  await send(make(batchOf(0, 1)))
  let nanoseconds = 0n
  for (let sent = 0; sent < messages; sent += BATCH) {
    const batch = make(batchOf(sent, BATCH))
    const startedAt = process.hrtime.bigint()
    await send(batch)
    nanoseconds += process.hrtime.bigint() - startedAt
  }
  if ((await topics.size(topic)) !== messages + 1) throw new Error('bench: not everything was written once')
  await topics.remove(topic)
  return messages / (Number(nanoseconds) / 1e9)
}

const same = <M>(batch: M): M => batch

const raw: Candidate = async round => {
  const topic = await round.topics.create(round.topics.newName('raw'))
  const producer = round.topics.producer()
  const make = (batch: BenchMessage[]) => toRaw(topic, batch)
  const rate = await publishing(round, topic, make, messages => producer.send({ messages }))
  await producer.close()
  return rate
}

const lazaret: Candidate = async round => {
  const topic = await round.topics.create(round.topics.newName('lazaret'))
  const broker = lazaretKafka({ brokers: round.topics.brokers })
  const payload = JSON.parse(BODY.toString())
  const make = (batch: BenchMessage[]) =>
    batch.map(({ key }) =>
      createEvent({ channel: topic, type: 'order.placed', source: '/shop', key: key.toString(), payload }),
    )
  const rate = await publishing(round, topic, make, events => broker.publish(events))
  await broker.close()
  return rate
}

const kafkajs: Candidate = async round => {
  const topic = await round.topics.create(round.topics.newName('kafkajs'))
  const kafka = new Kafka({ clientId: 'bench', brokers: round.topics.brokers, logLevel: logLevel.NOTHING })
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const rate = await publishing(round, topic, same, messages => producer.send({ topic, messages }))
  await producer.disconnect()
  return rate
}

const confluent: Candidate = async round => {
  const { Kafka: ConfluentKafka, logLevel: levels } = (await loadConfluent())!
  const topic = await round.topics.create(round.topics.newName('confluent'))
  const kafka = new ConfluentKafka({
    kafkaJS: { clientId: 'bench', brokers: round.topics.brokers, logLevel: levels.NOTHING },
  })
  const producer = kafka.producer({ kafkaJS: { idempotent: true, acks: -1 }, 'linger.ms': 0 })
  await producer.connect()
  const rate = await publishing(round, topic, same, messages => producer.send({ topic, messages }))
  await producer.disconnect()
  return rate
}

export const PUBLISHERS: Readonly<Record<string, Candidate>> = {
  'raw client': raw,
  lazaret,
  kafkajs,
  confluent,
}
