import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { admitRetry, initialBudget, recordCall, resolveBudget } from '../core/retry/budget.ts'
import { RetryBudget } from './limiters.ts'

const arrival = fc.record({
  /** Also negative: the clock is set back. */
  afterMs: fc.integer({ min: -300, max: 900 }),
  isRetry: fc.boolean(),
  times: fc.integer({ min: 1, max: 9 }),
})
const options = fc.record({
  ratio: fc.constantFrom(0, 0.1, 0.5, 1),
  floorPerSecond: fc.constantFrom(0, 1, 3),
  windowMs: fc.constantFrom(1_000, 1_003, 5_000),
})

describe('a live retry budget', () => {
  it('B2: counts calls together, and still admits the same retries as if it had counted each of them', () => {
    fc.assert(
      fc.property(options, fc.array(arrival, { maxLength: 120, size: 'max' }), (given, arrivals) => {
        const policy = resolveBudget(given)
        const live = new RetryBudget(policy)
        let state = initialBudget(policy)
        let now = 1_000
        for (const { afterMs, isRetry, times } of arrivals) {
          now = Math.max(0, now + afterMs)
          for (let time = 0; time < times; time++) {
            if (isRetry) {
              const admission = admitRetry(policy, state, now)
              state = admission.state
              expect(live.admitRetry(now)).toBe(admission.admitted)
            } else {
              state = recordCall(state, now)
              live.recordCall(now)
            }
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  it('B2: a window of another length starts without the calls of the old one', () => {
    const live = new RetryBudget(resolveBudget({ ratio: 1, floorPerSecond: 0, windowMs: 1_000 }))
    for (let call = 0; call < 5; call++) live.recordCall(50)
    live.changePolicy(resolveBudget({ ratio: 1, floorPerSecond: 0, windowMs: 2_000 }))
    expect(live.admitRetry(50)).toBe(false)
  })
})
