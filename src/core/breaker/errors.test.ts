import { expect, it } from 'vitest'
import { LazaretError } from '../failure/errors.ts'
import { BreakerOpenError } from './errors.ts'
import type { BreakerState } from './state.ts'

const since = Date.UTC(2026, 0, 2, 3, 4, 5)
const open: BreakerState = { mode: 'open', epoch: 1, since, until: since + 30_000, opens: 1 }

it('K4: a refusal names the breaker, since when, when it tries again, and what to do', () => {
  const error = new BreakerOpenError({ breaker: 'loki', state: open, retryAt: since + 30_000 })
  expect(error).toBeInstanceOf(LazaretError)
  expect(error).toMatchObject({
    name: 'BreakerOpenError',
    code: 'LAZARET_BREAKER_OPEN',
    retryable: true,
    breaker: 'loki',
    retryAt: since + 30_000,
  })
  expect(error.message).toBe(
    "breaker 'loki' refused the attempt: open since 2026-01-02T03:04:05.000Z; " +
      'it admits a probe at 2026-01-02T03:04:35.000Z: wait until then, and check the dependency',
  )
})

it('E16: a refusal by a forced breaker names the person, and no time', () => {
  const state: BreakerState = { mode: 'forced-open', epoch: 1, since, by: 'ada' }
  const error = new BreakerOpenError({ breaker: 'loki', state, retryAt: undefined })
  expect(error.message).toBe(
    "breaker 'loki' refused the attempt: forced open since 2026-01-02T03:04:05.000Z by ada; " +
      "it stays open until it is forced to 'auto' or 'closed'",
  )
})

it('E16: a refusal while probes are in flight says so, and a time out of range does not throw', () => {
  const state: BreakerState = {
    mode: 'half-open',
    epoch: 2,
    since,
    opens: 1,
    successes: 0,
    probesInFlight: 1,
    lastProbeAt: since,
    firstEpoch: 2,
  }
  const { message } = new BreakerOpenError({ breaker: 'loki', state, retryAt: 9e15 })
  expect(message).toContain('half-open since 2026-01-02T03:04:05.000Z and all probes are in flight')
  expect(message).toContain('9000000000000000')
})
