import { LazaretError } from '../failure/errors.ts'

/** A rate limit refused the call before anything was attempted. */
export class RateLimitedError extends LazaretError {
  override readonly name = 'RateLimitedError'
  /** From when on one more is allowed, if nobody else takes it. */
  readonly retryAt: number

  constructor(subject: string, retryAt: number) {
    super(
      `${subject}: the rate limit is reached; try again from ${iso(retryAt)} on, or raise rateLimit.perSecond`,
      { code: 'LAZARET_RATE_LIMITED', retryable: true },
    )
    this.retryAt = retryAt
  }
}

/** The retry limit refused another attempt; `cause` is what the last one ended with. */
export class RetryLimitedError extends LazaretError {
  override readonly name = 'RetryLimitedError'

  constructor(subject: string, options: { readonly cause?: unknown } = {}) {
    super(
      `${subject}: too many retries at once for another one; raise retryLimit.perSecond, or set retryLimit.onLimit to 'delay' so that they wait`,
      { code: 'LAZARET_RETRY_LIMITED', retryable: true, ...options },
    )
  }
}

/** A time outside of what a date can hold is told as the number it is, because an error must not fail. */
function iso(timeMs: number): string {
  const date = new Date(timeMs)
  return Number.isNaN(date.getTime()) ? String(timeMs) : date.toISOString()
}
