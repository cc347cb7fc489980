import { expect, it } from 'vitest'
import { progressAt } from '../group/progress.ts'
import { AssignedPartition, type Entry } from './partition.ts'

function opened(): AssignedPartition {
  const partition = new AssignedPartition({ topic: 'orders', topicId: 'id', partition: 0 }, undefined)
  partition.open(progressAt(0))
  return partition
}

/** How many attempts the next commit announces beyond those that have begun. */
function announced(partition: AssignedPartition): number {
  const commit = partition.nextCommit()
  return commit.progress.upTo - commit.progress.position
}

/** Attempts begin while a commit is on its way. */
function beginDuringCommit(partition: AssignedPartition, count: number): void {
  const commit = partition.nextCommit()
  for (let left = count; left > 0; left--) partition.handOut({ record: { offset: 0, bytes: 0 } } as Entry)
  partition.committed(commit)
}

it('B8: more attempts are announced while some have to wait, up to a limit', () => {
  const partition = opened()
  const counts = Array.from({ length: 6 }, () => {
    partition.announceAtLeast(0)
    return announced(partition)
  })
  expect(counts).toEqual(counts.toSorted((a, b) => a - b))
  expect(counts[3]).toBe(2_000)
  expect(counts.at(-1)).toBe(2_000)
})

it('B8: as many attempts are announced as begin during a commit, and few when it is quiet', () => {
  const partition = opened()
  for (let times = 0; times < 4; times++) partition.announceAtLeast(0)
  for (let times = 0; times < 20; times++) beginDuringCommit(partition, 100)
  // The one that began before counts as well.
  expect(announced(partition)).toBe(301)
  const quiet = Array.from({ length: 20 }, () => {
    beginDuringCommit(partition, 0)
    return announced(partition)
  })
  expect(quiet.at(-1)).toBe(17)
})

it('B9: a partition has caught up when all is read that it had when it was opened, also if an answer says less', () => {
  const partition = new AssignedPartition({ topic: 'orders', topicId: 'id', partition: 0 }, undefined)
  partition.open(progressAt(30), 37)
  partition.window.skipTo(30)
  partition.ends(30)
  expect(partition.hasCaughtUp).toBe(false)
  for (let offset = 30; offset < 37; offset++) partition.window.read(offset)
  expect(partition.hasCaughtUp).toBe(true)
})

it('B9: a partition that is being read again has not caught up before it is open', () => {
  const partition = opened()
  partition.ends(2)
  partition.window.skipTo(5)
  expect(partition.hasCaughtUp).toBe(true)
  partition.isOpen = false
  expect(partition.hasCaughtUp).toBe(false)
  const { knownEnd } = partition
  partition.open(progressAt(0), knownEnd)
  partition.window.skipTo(4)
  expect(partition.hasCaughtUp).toBe(false)
  partition.window.skipTo(5)
  expect(partition.hasCaughtUp).toBe(true)
})

it('B8: what the latest commit does not announce may not begin, although an earlier one has announced it', () => {
  const partition = opened()
  for (let times = 0; times < 4; times++) {
    partition.announceAtLeast(0)
    partition.committed(partition.nextCommit())
  }
  const announcedOnce = { record: { offset: 1_500 }, isHeld: false } as Entry
  expect(partition.mayBegin(announcedOnce)).toBe(true)
  for (let times = 0; times < 20; times++) partition.committed(partition.nextCommit())
  expect(partition.mayBegin(announcedOnce)).toBe(false)
})

it('"bounded everywhere": a partition with too many held events is not read on because it is opened', () => {
  const partition = new AssignedPartition({ topic: 'orders', topicId: 'id', partition: 0 }, undefined)
  partition.isFull = true
  partition.open(progressAt(0))
  expect(partition.wantsRecords).toBe(false)
})
