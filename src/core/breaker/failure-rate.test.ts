import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { admit, forceBreaker, initialBreaker, settle } from './breaker.ts'
import { resolveBreaker } from './options.ts'

const T0 = 1_700_000_000_000
const SLICES = 10

describe('failure rate', () => {
  it('E16: opens at half of 20 calls failed, and not at 19 calls', () => {
    const policy = byRate(0.5, 60_000, 20)
    let state = initialBreaker(policy, T0)
    for (let call = 1; call <= 19; call++) {
      state = settle(policy, state, 0, call % 2 === 0 ? 'success' : 'failure', T0 + call)
      expect(state.mode).toBe('closed')
    }
    expect(settle(policy, state, 0, 'success', T0 + 20).mode).toBe('open')
  })

  it('E16: old failures leave the window', () => {
    const policy = byRate(0.5, 60_000, 2)
    const failed = settle(policy, initialBreaker(policy, T0), 0, 'failure', T0)
    expect(settle(policy, failed, 0, 'failure', T0 + 30_000).mode).toBe('open')
    expect(settle(policy, failed, 0, 'failure', T0 + 60_000).mode).toBe('closed')
  })

  it('E16: either trigger opens it when both are on', () => {
    const both = { failures: 3, failureRate: { threshold: 0.5, minimumCalls: 4 } }
    const policy = resolveBreaker(both, 'consumer')
    const mode = (outcomes: readonly ('success' | 'failure')[]) =>
      outcomes.reduce((state, outcome) => settle(policy, state, 0, outcome, T0), initialBreaker(policy, T0))
        .mode
    expect(mode(['failure', 'failure', 'failure'])).toBe('open')
    expect(mode(['failure', 'success', 'success', 'failure'])).toBe('open')
    expect(mode(['failure', 'success', 'success'])).toBe('closed')
  })

  it('E16: the window starts empty when the breaker closes again, by probes or by hand', () => {
    const policy = { ...byRate(0.5, 60_000, 2), successes: 1 }
    const failed = settle(policy, initialBreaker(policy, T0), 0, 'failure', T0)
    const open = settle(policy, failed, 0, 'failure', T0)
    const probe = admit(policy, open, T0 + policy.openMs).state
    const closed = settle(policy, probe, probe.epoch, 'success', T0 + policy.openMs)
    const byHand = forceBreaker(forceBreaker(failed, 'closed', T0), 'auto', T0)
    for (const state of [closed, byHand]) {
      const one = settle(policy, state, state.epoch, 'failure', T0 + policy.openMs)
      expect(one.mode).toBe('closed')
      expect(settle(policy, one, one.epoch, 'failure', T0 + policy.openMs).mode).toBe('open')
    }
  })

  it('E16: a clock set back counts no failure twice and none that had left', () => {
    const policy = byRate(0.5, 60_000, 3)
    let state = initialBreaker(policy, T0)
    for (const early of ['failure', 'failure'] as const) state = settle(policy, state, 0, early, T0)
    for (const now of [T0 + 120_000, T0, T0, T0]) state = settle(policy, state, 0, 'success', now)
    expect(state.mode).toBe('closed')
  })

  it('E16: opens as early after the clock was set by an hour, whichever way, as without it', () => {
    const policy = byRate(0.5, 10_000, 10)
    for (const stepMs of [-3_600_000, 0, 3_600_000]) {
      let state = settle(policy, initialBreaker(policy, T0), 0, 'success', T0)
      let now = T0 + stepMs
      for (let call = 0; call < 100; call++, now += 500) state = settle(policy, state, 0, 'success', now)
      let failed = 0
      for (; state.mode === 'closed'; failed++, now += 500) state = settle(policy, state, 0, 'failure', now)
      expect([stepMs, failed]).toEqual([stepMs, 10])
    }
  })

  it('E16: fires if and only if the rate over the window reaches the threshold with enough calls', () => {
    const calls = fc.array(fc.record({ waitMs: fc.nat(2_500), failed: fc.boolean() }), { maxLength: 60 })
    fc.assert(
      fc.property(
        fc.double({ min: 0.05, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 15 }),
        calls,
        check,
      ),
      { numRuns: 500 },
    )
  })
})

/** The naive model keeps every call and looks at all those whose slice is among the newest ten. */
function check(
  threshold: number,
  minimumCalls: number,
  calls: readonly { waitMs: number; failed: boolean }[],
) {
  const windowMs = 10_000
  const policy = byRate(threshold, windowMs, minimumCalls)
  const slice = (at: number) => Math.floor(at / (windowMs / SLICES))
  const seen: { at: number; failed: boolean }[] = []
  let state = initialBreaker(policy, T0)
  let now = T0
  for (const { waitMs, failed } of calls) {
    now += waitMs
    seen.push({ at: now, failed })
    const recent = seen.filter(call => slice(call.at) > slice(now) - SLICES)
    const rate = recent.filter(call => call.failed).length / recent.length
    state = settle(policy, state, 0, failed ? 'failure' : 'success', now)
    expect(state.mode).toBe(recent.length >= minimumCalls && rate >= threshold ? 'open' : 'closed')
    if (state.mode === 'open') return
  }
}

function byRate(threshold: number, windowMs: number, minimumCalls: number) {
  return resolveBreaker({ failures: 'off', failureRate: { threshold, windowMs, minimumCalls } }, 'consumer')
}
