import { describe, expect, it } from 'vitest'
import { admit, type BreakerOutcome, forceBreaker, initialBreaker, settle } from './breaker.ts'
import { type BreakerOptions, resolveBreaker } from './options.ts'
import type { BreakerState } from './state.ts'

const T0 = 1_700_000_000_000

describe('closed', () => {
  it('E16: opens after 5 failures in a row by default, not after 4', () => {
    const four = afterResults(consumer(), ['failure', 'failure', 'failure', 'failure'])
    expect(four).toMatchObject({ mode: 'closed', failures: 4 })
    expect(afterResults(consumer(), ['failure'], four)).toEqual({
      mode: 'open',
      epoch: 1,
      since: T0,
      until: T0 + 30_000,
      opens: 1,
    })
  })

  it('E16: a success between failures starts the count over', () => {
    const policy = consumer({ failures: 2 })
    expect(afterResults(policy, ['failure', 'success', 'failure'])).toMatchObject({
      mode: 'closed',
      failures: 1,
    })
  })

  it('B5: schema and business errors never open it, nor hide failures in a row', () => {
    const policy = consumer({ failures: 2 })
    const state = initialBreaker(policy, T0)
    expect(settle(policy, state, 0, 'ignored', T0)).toBe(state)
    expect(afterResults(policy, ['failure', 'ignored', 'failure']).mode).toBe('open')
  })

  it('E21: a success that changes nothing allocates nothing', () => {
    const policy = consumer()
    const state = initialBreaker(policy, T0)
    expect(settle(policy, state, state.epoch, 'success', T0 + 1)).toBe(state)
  })
})

describe('open', () => {
  it('K4: refuses every attempt, retries too, until its time is over', () => {
    const state = opened()
    for (const wait of [0, 1, 29_999]) {
      expect(admit(consumer(), state, T0 + wait)).toEqual({ admitted: false, state, retryAt: T0 + 30_000 })
    }
    expect(admit(consumer(), state, T0 + 30_000)).toMatchObject({
      admitted: true,
      state: { mode: 'half-open' },
    })
  })

  it('E16: results of attempts admitted before it opened change nothing', () => {
    const state = opened()
    for (const outcome of ['success', 'failure', 'ignored'] as const) {
      expect(settle(consumer(), state, 0, outcome, T0 + 1)).toBe(state)
    }
  })

  it('E16: a clock set back by a day costs one openMs at most, not a day', () => {
    const yesterday = T0 - 86_400_000
    const asked = admit(consumer(), opened(), yesterday)
    expect(asked).toMatchObject({ admitted: false, retryAt: yesterday + 30_000 })
    expect(admit(consumer(), asked.state, yesterday + 29_999).admitted).toBe(false)
    expect(admit(consumer(), asked.state, yesterday + 30_000).admitted).toBe(true)
  })
})

describe('by hand', () => {
  it('E16: forced open admits nothing and names no time; auto probes first', () => {
    const forced = forceBreaker(initialBreaker(consumer(), T0), 'open', T0 + 5, 'ada')
    expect(forced).toEqual({ mode: 'forced-open', epoch: 1, since: T0 + 5, by: 'ada' })
    expect(admit(consumer(), forced, T0 + 1e9)).toEqual({
      admitted: false,
      state: forced,
      retryAt: undefined,
    })
    const auto = forceBreaker(forced, 'auto', T0 + 9)
    expect(auto).toMatchObject({ mode: 'half-open', epoch: 2, probesInFlight: 0, successes: 0 })
    expect(admit(consumer(), auto, T0 + 9).admitted).toBe(true)
  })

  it('E16: forced closed admits everything whatever the results; auto closes it afresh', () => {
    const policy = consumer({ failures: 1 })
    const forced = forceBreaker(opened(), 'closed', T0 + 5)
    expect(admit(policy, forced, T0 + 5)).toEqual({ admitted: true, state: forced })
    expect(settle(policy, forced, forced.epoch, 'failure', T0 + 6)).toBe(forced)
    expect(forceBreaker(forced, 'auto', T0 + 7)).toEqual({
      mode: 'closed',
      epoch: 3,
      since: T0 + 7,
      failures: 0,
    })
  })

  it('E16: asking for what already holds changes nothing', () => {
    const closed = initialBreaker(consumer(), T0)
    const forced = forceBreaker(closed, 'open', T0, 'ada')
    expect(forceBreaker(forced, 'open', T0 + 1, 'bob')).toBe(forced)
    expect(forceBreaker(closed, 'auto', T0 + 1)).toBe(closed)
    expect(forceBreaker(opened(), 'auto', T0 + 1)).toEqual(opened())
  })
})

function consumer(options: BreakerOptions = {}) {
  return resolveBreaker(options, 'consumer')
}

function afterResults(
  policy: ReturnType<typeof consumer>,
  outcomes: readonly BreakerOutcome[],
  from: BreakerState = initialBreaker(policy, T0),
): BreakerState {
  return outcomes.reduce<BreakerState>((state, outcome) => settle(policy, state, 0, outcome, T0), from)
}

function opened(): BreakerState {
  return afterResults(consumer({ failures: 1 }), ['failure'])
}
