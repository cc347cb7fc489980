import { expect, it } from 'vitest'
import { progressAt } from '../group/progress.ts'
import { AssignedPartition } from './partition.ts'

function opened(): AssignedPartition {
  const partition = new AssignedPartition({ topic: 'orders', topicId: 'id', partition: 0 }, undefined)
  partition.open(progressAt(0))
  return partition
}

/** How many attempts the next commit announces beyond those that have begun. */
function announced(partition: AssignedPartition, isWanted: boolean): number {
  const { progress } = partition.nextCommit(isWanted)
  return progress.upTo - progress.position
}

it('B8: more attempts are announced while some have to wait, up to a limit', () => {
  const partition = opened()
  const counts = Array.from({ length: 6 }, () => {
    partition.announceAtLeast(0)
    return announced(partition, true)
  })
  expect(counts).toEqual(counts.toSorted((a, b) => a - b))
  expect(counts[3]).toBe(2_000)
  expect(counts.at(-1)).toBe(2_000)
})

it('B8: attempts that are used up in time stay as many, and few are announced again when it is quiet', () => {
  const partition = opened()
  partition.announceAtLeast(0)
  const many = announced(partition, true)
  expect(announced(partition, true)).toBe(many)
  const quiet = Array.from({ length: 20 }, () => announced(partition, false))
  expect(quiet[0]).toBeLessThan(many)
  expect(quiet.at(-1)).toBe(16)
})
