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

/** A committer of two partitions. The test answers its requests. */
function committing() {
  const [leaving, staying] = [0, 1].map(partition => {
    const each = new AssignedPartition({ topic: 'orders', topicId: 'id', partition }, undefined)
    each.open(progressAt(0))
    return each
  }) as [AssignedPartition, AssignedPartition]
  const answers: (() => void)[] = []
  const sendCommit = () => new Promise(resolve => answers.push(() => resolve({ topics: [] })))
  const cluster = {
    servers: 'kafka:9092',
    client: async () => ({ offsetCommitV9: { api: { async: sendCommit } } }),
    coordinator: async () => ({}),
    forgetCoordinator() {},
  }
  const committer: Committer = new Committer(
    cluster as unknown as Cluster,
    resolveKafka({ brokers: ['kafka:9092'], random: seededRandom(1) }),
    'orders.bill',
    { id: 'member', epoch: 2 } as unknown as GroupMember,
    {
      partitions: () => [leaving, staying],
      // The other partition is busy: attempts of it wait for the next commit.
      committed: () => committer.demand(staying),
      failed(error) {
        throw error
      },
      works() {},
    },
  )
  const asked = (count: number) => expect.poll(() => answers.length).toBe(count)
  return { committer, leaving, staying, answers, asked }
}

it('B20: the last commit of a partition does not wait until the others need none', async () => {
  const { committer, leaving, staying, answers, asked } = committing()
  committer.demand(staying)
  await asked(1)
  leaving.isLeaving = true
  const finished = committer.finish([leaving])
  answers[0]!()
  await asked(3)
  answers[1]!()
  answers[2]!()
  await finished
  committer.close()
})

it('B8: what waits for a commit of a partition that is given back does not begin by a commit of another', async () => {
  const { committer, leaving, staying, answers, asked } = committing()
  leaving.isLeaving = true
  const recorded: boolean[] = []
  void committer.durable(leaving).then(isDurable => recorded.push(isDurable))
  committer.demand(staying)
  await asked(1)
  answers[0]!()
  await asked(2)
  expect(recorded).toEqual([])
  committer.close()
  await expect.poll(() => recorded).toEqual([false])
})
