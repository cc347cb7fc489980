import { expect, it } from 'vitest'
import { admit, initialBreaker, settle } from './breaker.ts'
import { type BreakerOptions, resolveBreaker } from './options.ts'
import type { BreakerState } from './state.ts'

const OPEN_MS = 30_000
/** When the breaker of every test here has become half-open, its first probe under way. */
const T0 = 1_700_000_000_000

it('E16: admits 1 probe at a time, the next when that one has ended', () => {
  const policy = consumer()
  const first = probing(policy)
  expect(first).toMatchObject({ mode: 'half-open', probesInFlight: 1 })
  expect(admit(policy, first, T0 + 1)).toEqual({ admitted: false, state: first, retryAt: T0 + OPEN_MS })
  const ended = settle(policy, first, first.epoch, 'success', T0 + 2)
  expect(admit(policy, ended, T0 + 2)).toMatchObject({ admitted: true, state: { probesInFlight: 1 } })
})

it('E16: closes after 2 successes for a consumer, 3 for a producer', () => {
  for (const [preset, successes] of [['consumer', 2] as const, ['producer', 3] as const]) {
    const policy = resolveBreaker({ failures: 1 }, preset)
    let state = probing(policy)
    for (let done = 1; done < successes; done++) {
      state = settle(policy, state, state.epoch, 'success', T0)
      expect(state).toMatchObject({ mode: 'half-open', successes: done })
      state = admit(policy, state, T0).state
    }
    const closed = settle(policy, state, state.epoch, 'success', T0 + 7)
    expect(closed).toEqual({ mode: 'closed', epoch: state.epoch + 1, since: T0 + 7, failures: 0 })
  }
})

it('E16: any failure reopens it, however many probes succeeded before', () => {
  const policy = consumer({ successes: 3 })
  const one = settle(policy, probing(policy), 2, 'success', T0)
  const state = admit(policy, one, T0).state
  expect(settle(policy, state, 2, 'failure', T0 + 5)).toEqual({
    mode: 'open',
    epoch: 3,
    since: T0 + 5,
    until: T0 + 5 + OPEN_MS,
    opens: 2,
  })
})

it('B5: a schema error gives its slot back and proves nothing either way', () => {
  const policy = consumer()
  const state = settle(policy, probing(policy), 2, 'ignored', T0 + 1)
  expect(state).toEqual({ ...probing(policy), probesInFlight: 0 })
})

it('E16: late results from before it opened neither reopen nor close it', () => {
  const policy = consumer({ successes: 1 })
  const state = probing(policy)
  for (const epoch of [0, 1]) {
    expect(settle(policy, state, epoch, 'failure', T0 + 1)).toBe(state)
    expect(settle(policy, state, epoch, 'success', T0 + 1)).toBe(state)
  }
})

it('E16: a probe that never ends is given up after openMs, so the breaker is not stuck', () => {
  const policy = consumer()
  const stuck = probing(policy)
  expect(admit(policy, stuck, T0 + OPEN_MS - 1).admitted).toBe(false)
  expect(admit(policy, stuck, T0 + OPEN_MS)).toMatchObject({
    admitted: true,
    state: { mode: 'half-open', epoch: 3, firstEpoch: 2, probesInFlight: 1, lastProbeAt: T0 + OPEN_MS },
  })
})

it('E16: every probe has an openMs of its own', () => {
  const policy = consumer()
  const first = settle(policy, probing(policy), 2, 'success', T0 + 20_000)
  const second = admit(policy, first, T0 + 20_000).state
  expect(admit(policy, second, T0 + OPEN_MS)).toMatchObject({
    admitted: false,
    retryAt: T0 + 20_000 + OPEN_MS,
  })
})

it('E16: probes slower than openMs still close or reopen it, without freeing the slot of another', () => {
  const policy = consumer({ successes: 2 })
  const second = admit(policy, probing(policy), T0 + OPEN_MS).state
  const late = settle(policy, second, 2, 'success', T0 + OPEN_MS + 1)
  expect(late).toMatchObject({ mode: 'half-open', successes: 1, probesInFlight: 1 })
  expect(settle(policy, late, 3, 'success', T0 + OPEN_MS + 2).mode).toBe('closed')
  expect(settle(policy, second, 2, 'failure', T0 + OPEN_MS + 1).mode).toBe('open')
  expect(settle(policy, second, 2, 'ignored', T0 + OPEN_MS + 1)).toBe(second)
})

it('E16: a clock set back by a day frees a stuck probe after one openMs', () => {
  const policy = consumer()
  const yesterday = T0 - 86_400_000
  const asked = admit(policy, probing(policy), yesterday)
  expect(asked).toMatchObject({ admitted: false, retryAt: yesterday + OPEN_MS })
  expect(admit(policy, asked.state, yesterday + OPEN_MS).admitted).toBe(true)
})

it('E16: openMaxMs makes each opening in a row twice as long, up to it; closing starts over', () => {
  const policy = consumer({ openMaxMs: 100_000, successes: 1 })
  let state = probing(policy)
  const pauses: number[] = []
  for (let opening = 0; opening < 3; opening++) {
    const open = settle(policy, state, state.epoch, 'failure', T0)
    if (open.mode !== 'open') throw new Error('a failed probe must open the breaker')
    pauses.push(open.until - open.since)
    state = admit(policy, open, open.until).state
  }
  expect(pauses).toEqual([60_000, 100_000, 100_000])
  const closed = settle(policy, state, state.epoch, 'success', T0)
  expect(settle(policy, closed, closed.epoch, 'failure', T0)).toMatchObject({ until: T0 + OPEN_MS, opens: 1 })
})

function consumer(options: BreakerOptions = {}) {
  return resolveBreaker({ failures: 1, openMs: OPEN_MS, ...options }, 'consumer')
}

/** Epoch 0 closed, 1 open, 2 half-open. */
function probing(policy: ReturnType<typeof consumer>): BreakerState {
  const openedAt = T0 - policy.openMs
  return admit(policy, settle(policy, initialBreaker(policy, openedAt), 0, 'failure', openedAt), T0).state
}
