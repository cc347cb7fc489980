import { Admin, Consumer, MessagesStreamModes, ProduceAcks, Producer } from '@platformatic/kafka'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findKafka, type KafkaService } from './kafka.ts'

const kafka = await findKafka()
const why = kafka.found ? (kafka.isPrivate ? '' : 'a given server is not stopped') : kafka.why

const base = (service: KafkaService) => ({
  clientId: 'lazaret-tests',
  bootstrapBrokers: service.brokers,
  // As long as the test may take: how soon a node is back depends on the load of the machine.
  retries: 6_000,
  retryDelay: 100,
})

async function createTopic(service: KafkaService, topic: string): Promise<void> {
  const admin = new Admin(base(service))
  await admin.createTopics({ topics: [topic], partitions: 3, replicas: service.nodes.length })
  await admin.close()
}

async function produce(service: KafkaService, topic: string, values: readonly string[]): Promise<void> {
  const producer = new Producer({ ...base(service), idempotent: true, acks: ProduceAcks.ALL })
  await producer.send({
    messages: values.map(value => ({ topic, key: Buffer.from(value), value: Buffer.from(value) })),
  })
  await producer.close()
}

async function consume(service: KafkaService, topic: string, count: number): Promise<string[]> {
  const consumer = new Consumer({ ...base(service), groupId: 'readers' })
  const stream = await consumer.consume({
    topics: [topic],
    mode: MessagesStreamModes.EARLIEST,
    autocommit: false,
  })
  const values: string[] = []
  for await (const { value } of stream) {
    values.push(value.toString())
    if (values.length === count) break
  }
  await consumer.close(true)
  return values.sort()
}

describe.skipIf(why !== '')(`Kafka for tests ${why}`, () => {
  describe('one node', () => {
    let service: KafkaService
    beforeAll(async () => {
      service = kafka.found ? await kafka.start() : (undefined as never)
    })
    afterAll(() => service?.close())

    it('E21: the node has what was written to it, also after a crash', async () => {
      await createTopic(service, 'orders')
      await produce(service, 'orders', ['1', '2', '3'])
      await service.nodes[0]!.kill()
      await service.nodes[0]!.start()
      await produce(service, 'orders', ['4'])
      expect(await consume(service, 'orders', 4)).toEqual(['1', '2', '3', '4'])
    })
  })
})
