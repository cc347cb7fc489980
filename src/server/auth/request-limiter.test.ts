import { expect, it } from 'vitest'
import { RequestLimiter } from './request-limiter.ts'

const NOON = Date.UTC(2026, 0, 1, 12)
const HOUR_MS = 3_600_000

it('F8: a clock that is set by an hour, whichever way, refuses nobody who was within the limit', () => {
  for (const stepMs of [-HOUR_MS, HOUR_MS]) {
    const limiter = new RequestLimiter({ perSecond: 2, burst: 3 })
    limiter.require('ann', NOON)
    limiter.require('bob', NOON)
    limiter.require('bob', NOON)
    limiter.require('ann', NOON + stepMs)
    limiter.require('bob', NOON + stepMs)
    if (stepMs > 0) continue
    expect(() => limiter.require('bob', NOON + stepMs)).toThrow('Retry in 1 s.')
    limiter.require('bob', NOON + stepMs + 500)
  }
})
