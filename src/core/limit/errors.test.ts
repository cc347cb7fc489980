import { describe, expect, it } from 'vitest'
import { LazaretError } from '../failure/errors.ts'
import { RateLimitedError } from './errors.ts'

describe('limit errors', () => {
  it('E14: a rate-limited call says when to come back', () => {
    const error = new RateLimitedError('orders', Date.UTC(2026, 0, 1, 12))
    expect(error).toBeInstanceOf(LazaretError)
    expect(error).toMatchObject({ code: 'LAZARET_RATE_LIMITED', retryable: true, retryAt: 1_767_268_800_000 })
    expect(error.message).toBe(
      'orders: rate limit reached; retry after 2026-01-01T12:00:00.000Z, or raise rateLimit.perSecond',
    )
    expect(new RateLimitedError('orders', 1e300).message).toContain('1e+300')
  })
})
