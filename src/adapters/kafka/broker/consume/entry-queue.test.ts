import { expect, it } from 'vitest'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import type { Committer } from '../group/committer.ts'
import { progressAt } from '../group/progress.ts'
import { EntryQueue } from './entry-queue.ts'
import { AssignedPartition, newEntry } from './partition.ts'

function opened(number: number): AssignedPartition {
  const partition = new AssignedPartition({ topic: 'orders', topicId: 'id', partition: number }, undefined)
  partition.open(progressAt(0))
  return partition
}

it('B8: a suspect of a partition that is given back does not begin, and holds up nothing', () => {
  const [leaving, staying] = [opened(0), opened(1)]
  const committer = () => ({ demand() {} }) as unknown as Committer
  const queue = new EntryQueue(new FakeClock(), committer, {
    due() {},
    changed() {},
    hasRoom() {},
    partitions: () => [leaving, staying],
  })
  const suspectOf = (partition: AssignedPartition) =>
    newEntry(partition, { offset: 0, bytes: 1 } as Parameters<typeof newEntry>[1], true)
  queue.add(suspectOf(leaving))
  const second = suspectOf(staying)
  queue.add(second)
  leaving.isLeaving = true
  expect(queue.nextSuspect(false)).toBe(second)
  expect([queue.hasSuspects, queue.nextSuspect(false)]).toEqual([false, undefined])
  queue.close()
})
