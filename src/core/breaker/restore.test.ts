import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { initialBreaker, settle } from './breaker.ts'
import { type BreakerOptions, resolveBreaker } from './options.ts'
import { restoreBreaker } from './restore.ts'

const T0 = 1_700_000_000_000
const HALF_OPEN = {
  mode: 'half-open',
  epoch: 4,
  since: T0,
  opens: 1,
  successes: 0,
  probesInFlight: 1,
  lastProbeAt: T0,
  firstEpoch: 3,
}

describe('restoring a breaker', () => {
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'open'],
    ['an unknown mode', { mode: 'ajar', epoch: 1, since: T0 }],
    ['an open one without its time', { mode: 'open', epoch: 1, since: T0, opens: 1 }],
    ['a time that is none', { mode: 'open', epoch: 1, since: T0, until: 1e300, opens: 1 }],
    ['one that ends before it began', { mode: 'open', epoch: 1, since: T0, until: T0 - 1, opens: 1 }],
    ['an epoch that cannot be counted on', { mode: 'forced-open', epoch: 1.5, since: T0 }],
    ['negative counts', { ...HALF_OPEN, probesInFlight: -1 }],
    ['an epoch before the first', { ...HALF_OPEN, firstEpoch: 5 }],
  ])('E16: %s becomes a fresh breaker', (_, value) => {
    expect(restoreBreaker(consumer(), value, T0)).toEqual(initialBreaker(consumer(), T0))
  })

  it('E16: any JSON at all becomes a state that works', () => {
    const shaped = fc.record(
      {
        mode: fc.constantFrom('closed', 'open', 'half-open', 'forced-open', 'forced-closed'),
        epoch: fc.oneof(fc.nat(), fc.jsonValue()),
        since: fc.oneof(fc.nat(), fc.jsonValue()),
        until: fc.oneof(fc.nat(), fc.jsonValue()),
        opens: fc.oneof(fc.nat(), fc.jsonValue()),
        failures: fc.oneof(fc.nat(), fc.jsonValue()),
        calls: fc.jsonValue(),
        failed: fc.jsonValue(),
      },
      { requiredKeys: ['mode'] },
    )
    const policy = consumer({ failureRate: { threshold: 0.5 } })
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), shaped), value => {
        const state = restoreBreaker(policy, value, T0)
        expect(restoreBreaker(policy, JSON.parse(JSON.stringify(state)), T0)).toEqual(state)
        const next = settle(policy, state, state.epoch, 'failure', T0)
        expect(JSON.stringify(next)).not.toMatch(/null/)
      }),
    )
  })

  it('E16: a policy with a shorter pause shortens the pause under way', () => {
    const stored = { mode: 'open', epoch: 1, since: T0, until: T0 + 60_000, opens: 1 }
    expect(restoreBreaker(consumer({ openMs: 5_000 }), stored, T0)).toEqual({ ...stored, until: T0 + 5_000 })
  })

  it('E16: windows of another length are dropped, the failures in a row are kept', () => {
    const long = consumer({ failureRate: { threshold: 0.5, windowMs: 60_000 } })
    const stored = settle(long, initialBreaker(long, T0), 0, 'failure', T0)
    const kept = { mode: 'closed', epoch: 0, since: T0, failures: 1 }
    expect(restoreBreaker(long, stored, T0)).toEqual(stored)
    expect(
      restoreBreaker(consumer({ failureRate: { threshold: 0.5, windowMs: 5_000 } }), stored, T0),
    ).toEqual(kept)
    expect(restoreBreaker(consumer(), stored, T0)).toEqual(kept)
  })

  it('E16: who forced it is kept', () => {
    const stored = { mode: 'forced-open', epoch: 3, since: T0, by: 'ada' }
    expect(restoreBreaker(consumer(), stored, T0)).toEqual(stored)
  })
})

function consumer(options: BreakerOptions = {}) {
  return resolveBreaker(options, 'consumer')
}
