import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OptionsError } from '../options/faults.ts'
import {
  admitRetry,
  type BudgetPolicy,
  type BudgetState,
  initialBudget,
  recordCall,
  resolveBudget,
} from './budget.ts'

function calls(state: BudgetState, count: number, now: number): BudgetState {
  let next = state
  for (let i = 0; i < count; i++) next = recordCall(next, now)
  return next
}

function admitted(
  policy: BudgetPolicy,
  state: BudgetState,
  tries: number,
  now: number,
): [number, BudgetState] {
  let [count, current] = [0, state]
  for (let i = 0; i < tries; i++) {
    const admission = admitRetry(policy, current, now)
    if (admission.admitted) count++
    current = admission.state
  }
  return [count, current]
}

describe('retry budget', () => {
  it('B2: retries are at most 20 % of the calls plus 10 a second over 10 s by default', () => {
    const policy = resolveBudget({})
    expect(policy).toEqual({ ratio: 0.2, floorPerSecond: 10, windowMs: 10_000 })
    const [count] = admitted(policy, calls(initialBudget(policy), 1_000, 500_000), 1_000, 500_000)
    expect(count).toBe(200 + 100)
  })

  it('B2: without a floor only the share counts, to the retry', () => {
    const policy = resolveBudget({ ratio: 0.29, floorPerSecond: 0 })
    const state = calls(initialBudget(policy), 100, 0)
    expect(admitted(policy, state, 100, 0)[0]).toBe(29)
    expect(admitted(policy, initialBudget(policy), 100, 0)[0]).toBe(0)
  })

  it('B2: the budget comes back as the window moves on', () => {
    const policy = resolveBudget({ ratio: 0, floorPerSecond: 2, windowMs: 10_000 })
    const [first, spent] = admitted(policy, initialBudget(policy), 50, 3_000)
    expect([first, admitted(policy, spent, 50, 12_999)[0]]).toEqual([20, 0])
    expect(admitted(policy, spent, 50, 14_000)[0]).toBe(20)
  })

  it('B2: a clock that is set by an hour, whichever way, holds the budget up for one window at most', () => {
    const policy = resolveBudget({ ratio: 0, floorPerSecond: 1, windowMs: 10_000 })
    for (const stepMs of [-3_600_000, 3_600_000]) {
      const start = 1_700_000_000_000
      const [, spent] = admitted(policy, initialBudget(policy), 10, start)
      let [count, state] = admitted(policy, spent, 1, start + stepMs)
      expect([stepMs, count]).toEqual([stepMs, stepMs < 0 ? 0 : 1])
      ;[count, state] = admitted(policy, state, 1, start + stepMs + 11_000)
      expect([stepMs, count]).toEqual([stepMs, 1])
    }
  })

  it('B2: calls from before the clock was set back expire too, also if only retries ask', () => {
    const policy = resolveBudget({ ratio: 1, floorPerSecond: 0, windowMs: 10_000 })
    const start = 1_700_000_000_000
    const [, state] = admitted(policy, calls(initialBudget(policy), 5, start), 1, start - 3_600_000)
    expect(admitted(policy, state, 1, start - 3_600_000 + 11_000)[0]).toBe(0)
  })

  it('B2: a refused retry leaves the state as it is', () => {
    const policy = resolveBudget({ ratio: 0, floorPerSecond: 0 })
    const state = initialBudget(policy)
    expect(admitRetry(policy, state, 5)).toEqual({ admitted: false, state })
    expect(admitRetry(policy, state, 5).state).toBe(state)
  })

  it('B2: the state survives JSON', () => {
    const policy = resolveBudget({})
    const [, state] = admitted(policy, calls(initialBudget(policy), 7, 9_000), 3, 9_500)
    expect(JSON.parse(JSON.stringify(state))).toEqual(state)
  })

  it('B2: in the window that ends with any admitted retry, retries ≤ ratio × calls + floor, for any arrivals', () => {
    const arrival = fc.record({
      afterMs: fc.nat(400),
      isRetry: fc.boolean(),
      times: fc.integer({ min: 1, max: 9 }),
    })
    const options = fc.record({
      ratio: fc.constantFrom(0, 0.1, 0.2, 0.5, 1),
      floorPerSecond: fc.constantFrom(0, 1, 3),
      windowMs: fc.constantFrom(1_000, 2_000, 5_000),
    })
    fc.assert(
      fc.property(
        options,
        fc.nat(1e6),
        fc.array(arrival, { maxLength: 120, size: 'max' }),
        (given, start, arrivals) => {
          const policy = resolveBudget(given)
          let state = initialBudget(policy)
          let now = start
          const called: number[] = []
          const retried: number[] = []
          for (const { afterMs, isRetry, times } of arrivals) {
            now += afterMs
            for (let i = 0; i < times; i++) {
              if (!isRetry) {
                state = recordCall(state, now)
                called.push(now)
                continue
              }
              const admission = admitRetry(policy, state, now)
              state = admission.state
              if (!admission.admitted) continue
              retried.push(now)
              const inWindow = (time: number) => time > now - policy.windowMs
              const allowed = policy.ratio * called.filter(inWindow).length
              const floor = (policy.floorPerSecond * policy.windowMs) / 1_000
              expect(retried.filter(inWindow).length).toBeLessThanOrEqual(allowed + floor + 1e-9)
            }
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('B2: all faults of the options are in one error', () => {
    const wrong = { ratio: -1, floorPerSecond: Number.NaN, windowMs: 10, flor: 3 }
    const attempt = () => resolveBudget(wrong)
    expect(attempt).toThrow(OptionsError)
    for (const fault of ['4 faults', 'budget.flor', 'ratio: got -1', 'got NaN', 'windowMs: got 10; give']) {
      expect(attempt).toThrow(fault)
    }
  })
})
