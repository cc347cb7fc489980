import { expect, it } from 'vitest'
import { seededRandom } from '../../../../testing/seeded-random.ts'
import type { Cluster } from '../../connection/cluster.ts'
import { resolveKafka } from '../../options.ts'
import { progressAt } from '../group/progress.ts'
import { Fetcher } from './fetcher.ts'
import { AssignedPartition } from './partition.ts'

it('B20: a partition without a leader is reported, while others are read', async () => {
  const partition = new AssignedPartition({ topic: 'orders', topicId: 'id', partition: 1 }, undefined)
  partition.open(progressAt(0))
  const info = { name: 'orders', id: 'id', leaders: [1, undefined] }
  const cluster = {
    known: () => info,
    topics: async () => new Map([['orders', info]]),
    closePool: async () => {},
  }
  const clock = { now: () => 0, schedule: () => () => {} }
  const settings = resolveKafka({ brokers: ['kafka:9092'], random: seededRandom(1), clock })
  const reported = Promise.withResolvers<unknown>()
  const fetcher = new Fetcher(cluster as unknown as Cluster, settings, 'test', {
    wanted: () => (partition.isFetching ? [] : [partition]),
    received() {},
    outOfRange() {},
    topicMissing: () => reported.reject(new Error('the topic is there')),
    failed: (_, error) => reported.resolve(error),
  })
  fetcher.run()
  await expect(reported.promise).resolves.toMatchObject({ message: 'partition 1 has no leader' })
  await fetcher.close()
})
