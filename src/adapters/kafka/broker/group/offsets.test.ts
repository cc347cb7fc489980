import { expect, it } from 'vitest'
import type { Cluster } from '../../connection/cluster.ts'
import { readProgress } from './offsets.ts'
import { encodeProgress, progressAt } from './progress.ts'

const [EARLIER, NOW] = ['00000000-1111-1111-1111-111111111111', '22222222-1111-1111-1111-111111111111']

/** A cluster whose group has committed offset 40, and that knows nothing of the topic. */
function committed(topicId: string): Cluster {
  const metadata = encodeProgress(progressAt(40), topicId)
  const partitions = [{ partitionIndex: 0, committedOffset: 40n, metadata }]
  const answer = { groups: [{ topics: [{ name: 'orders', partitions }] }] }
  const cluster = {
    client: async () => ({ offsetFetchV8: { api: { async: async () => answer } } }),
    coordinator: async () => ({}),
    known: () => undefined,
  }
  return cluster as unknown as Cluster
}

it('B20: a commit about an earlier topic of the same name does not count, also while the cluster is asked for its topics', async () => {
  const question = [{ name: 'orders', id: NOW, partitions: [0] }]
  expect((await readProgress(committed(EARLIER), 'orders.bill', question)).get('orders')).toBeUndefined()
  const stored = await readProgress(committed(NOW), 'orders.bill', question)
  expect(stored.get('orders')?.get(0)).toEqual(progressAt(40))
})
