import { expect, it } from 'vitest'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { resolveKafka } from '../options.ts'
import type { ProduceAnswer, ProducedRecord } from './client.ts'
import type { Cluster, TopicInfo } from './cluster.ts'
import { partitionOf } from './murmur2.ts'
import { Producer } from './producer.ts'

const KEY = Buffer.from('customer-7')
const PARTITIONS = 8

it('B9: the key decides the partition, also while the leaders of the topic are asked for', async () => {
  const infoOf = (name: string): TopicInfo => ({ name, id: name, leaders: Array(PARTITIONS).fill(1) })
  const known = new Map([['orders', infoOf('orders')]])
  const sent: ProducedRecord[] = []
  const produce = async (
    _connection: unknown,
    _acks: number,
    _timeoutMs: number,
    records: readonly ProducedRecord[],
  ): Promise<ProduceAnswer> => {
    sent.push(...records)
    return {
      responses: records.map(({ topic, partition }) => ({
        name: topic,
        partitionResponses: [{ index: partition, errorCode: 0, baseOffset: 0n }],
      })),
    }
  }
  const cluster = {
    servers: 'kafka:9092',
    refreshed: () => undefined,
    known: (name: string) => known.get(name),
    retrying: (_what: string, work: () => Promise<unknown>) => work(),
    topic: async (name: string) => {
      // A fetch has failed at the same time, and asks who leads the partitions of the first topic.
      known.delete('orders')
      known.set(name, infoOf(name))
      return infoOf(name)
    },
    topics: async (names: readonly string[]) => {
      for (const name of names) known.set(name, infoOf(name))
      return known
    },
    client: async () => ({
      produceV9: { api: { async: produce } },
      initProducerIdV4: { api: { async: async () => ({ producerId: 1n, producerEpoch: 0 }) } },
    }),
    any: async () => ({}),
    node: async () => ({}),
  }
  const settings = resolveKafka({ brokers: ['kafka:9092'], random: seededRandom(1) })
  const producer = new Producer(cluster as unknown as Cluster, settings, async () => false)
  const record = { key: KEY, value: null, headers: [] }
  await producer.send([
    { topic: 'orders', ...record },
    { topic: 'invoices', ...record },
  ])
  const partition = partitionOf(KEY, PARTITIONS)
  expect(partition).toBeGreaterThan(0)
  expect(sent.map(each => each.partition)).toEqual([partition, partition])
})
