import * as client from '@platformatic/kafka'
import { expect, it } from 'vitest'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { resolveKafka } from '../options.ts'
import type { KafkaConnection } from './client.ts'
import type { Cluster, TopicInfo } from './cluster.ts'
import { partitionOf } from './murmur2.ts'
import { Producer } from './producer.ts'

const KEY = Buffer.from('customer-7')
const PARTITIONS = 8

interface AskedPartition {
  readonly name: string
  readonly index: number
}

/** The topics and partitions of a request to publish. */
function partitionsOf(request: Buffer): readonly AskedPartition[] {
  const reader = client.Reader.from(request)
  // The transaction, the acknowledgements and the timeout.
  reader.readNullableString()
  reader.readInt16()
  reader.readInt32()
  const topics = reader.readArray(topic => {
    const name = topic.readString()
    const indexes = topic.readArray(partition => [partition.readInt32(), partition.readBytes()] as const)
    return indexes.map(([index]) => ({ name, index }))
  })
  return topics.flat()
}

/** A producer whose cluster knows one topic. `send` fails if the request does. */
function producing(send: (partitions: readonly AskedPartition[]) => void): Producer {
  const infoOf = (name: string): TopicInfo => ({ name, id: name, leaders: Array(PARTITIONS).fill(1) })
  const known = new Map([['orders', infoOf('orders')]])
  const connection = {
    send: (...[, , createRequest, , , , callback]: Parameters<KafkaConnection['send']>) => {
      const asked = partitionsOf((createRequest() as client.Writer).buffer)
      try {
        send(asked)
      } catch (error) {
        callback(error as Error, undefined)
        return
      }
      const responses = asked.map(({ name, index }) => ({
        name,
        partitionResponses: [{ index, errorCode: 0, baseOffset: 0n }],
      }))
      callback(null, { responses } as never)
    },
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
      ...client,
      initProducerIdV4: { api: { async: async () => ({ producerId: 1n, producerEpoch: 0 }) } },
    }),
    any: async () => ({}),
    node: async () => connection,
  }
  const settings = resolveKafka({ brokers: ['kafka:9092'], random: seededRandom(1) })
  return new Producer(cluster as unknown as Cluster, settings, async () => false)
}

it('B9: the key decides the partition, also while the leaders of the topic are asked for', async () => {
  const sent: AskedPartition[] = []
  const producer = producing(partitions => sent.push(...partitions))
  const record = { key: KEY, value: null, headers: [] }
  await producer.send([
    { topic: 'orders', ...record },
    { topic: 'invoices', ...record },
  ])
  const partition = partitionOf(KEY, PARTITIONS)
  expect(partition).toBeGreaterThan(0)
  expect(sent.map(({ index }) => index)).toEqual([partition, partition])
})

it('B9: a record is not sent again when its partition has another owner', async () => {
  let isOurs = true
  let requests = 0
  const producer = producing(() => {
    requests++
    isOurs = false
    throw new Error('the broker is gone')
  })
  const record = { topic: 'orders', key: KEY, value: null, headers: [] }
  await expect(producer.send([record], () => isOurs)).rejects.toThrow('another owner')
  expect(requests).toBe(1)
})
