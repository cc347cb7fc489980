import { expect, it } from 'vitest'
import { createBreaker } from './breaker.ts'

it('R12: a snapshot counts calls, successes, failures and refusals, with the last failure and the last change', () => {
  let now = 1_000
  const breaker = createBreaker(
    { failures: 2, openMs: 100, successes: 1 },
    { clock: { now: () => now } as never },
  )
  expect(breaker.snapshot()).toMatchObject({ calls: 0, successes: 0, failures: 0, rejected: 0 })
  expect(breaker.snapshot().lastFailureAt).toBeUndefined()
  expect(breaker.snapshot().lastChangeAt).toBeUndefined()

  const call = (outcome: 'success' | 'failure' | 'ignored') => {
    const epoch = breaker.admit(now)
    if (typeof epoch !== 'number') return
    if (outcome === 'success') breaker.succeeded(epoch)
    else breaker.settle(epoch, outcome, now)
  }
  call('success')
  call('ignored')
  now = 1_010
  call('failure')
  call('success')
  now = 1_020
  call('failure')
  call('failure')
  call('success')
  expect(breaker.snapshot()).toMatchObject({
    ...{ calls: 6, successes: 2, failures: 3, rejected: 1, opened: 1, closed: 0 },
    ...{ lastFailureAt: 1_020, lastChangeAt: 1_020 },
  })

  now = 1_120
  call('success')
  expect(breaker.snapshot()).toMatchObject({
    ...{ calls: 7, successes: 3, failures: 3, rejected: 1, opened: 1, closed: 1 },
    ...{ lastFailureAt: 1_020, lastChangeAt: 1_120 },
  })
})
