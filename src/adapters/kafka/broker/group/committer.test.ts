import { expect, it } from 'vitest'
import { seededRandom } from '../../../../testing/seeded-random.ts'
import type { Cluster } from '../../connection/cluster.ts'
import { CODE } from '../../connection/protocol-errors.ts'
import { resolveKafka } from '../../options.ts'
import { AssignedPartition } from '../consume/partition.ts'
import { Committer } from './committer.ts'
import type { GroupMember } from './member.ts'
import { progressAt } from './progress.ts'

it('B20: a member that was expelled and has joined again does not send the commit of its earlier membership', async () => {
  const partition = new AssignedPartition({ topic: 'orders', topicId: 'id', partition: 0 }, undefined)
  partition.open(progressAt(0))
  const member = { id: 'member', epoch: 2, expel() {}, refreshed: async () => {} }
  const epochs: number[] = []
  const sendCommit = async (_connection: unknown, _group: string, epoch: number) => {
    epochs.push(epoch)
    // Meanwhile the member was expelled, another one has the partition, and the member is back.
    partition.isOurs = false
    member.epoch = 5
    throw Object.assign(new Error('stale'), { apiCode: CODE.staleMemberEpoch })
  }
  const cluster = {
    servers: 'kafka:9092',
    client: async () => ({ offsetCommitV9: { api: { async: sendCommit } } }),
    coordinator: async () => ({}),
    forgetCoordinator() {},
  }
  const committer = new Committer(
    cluster as unknown as Cluster,
    resolveKafka({ brokers: ['kafka:9092'], random: seededRandom(1) }),
    'orders.bill',
    member as unknown as GroupMember,
    { partitions: () => [partition], committed() {}, failed() {}, works() {} },
  )
  await expect(committer.finish([partition])).rejects.toThrow('expelled')
  expect(epochs).toEqual([2])
})
