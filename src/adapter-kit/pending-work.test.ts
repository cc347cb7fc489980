import { expect, it } from 'vitest'
import { PendingWork } from './pending-work.ts'

it('E21: close waits until all that has begun has ended, also what began while it waited', async () => {
  const work = new PendingWork()
  await work.settled()
  let isSettled = false
  work.begin()
  const settled = work.settled().then(() => {
    isSettled = true
  })
  work.begin()
  work.end()
  await Promise.resolve()
  expect([work.count, isSettled]).toEqual([1, false])
  work.end()
  await settled
  expect([work.count, isSettled]).toEqual([0, true])
})
