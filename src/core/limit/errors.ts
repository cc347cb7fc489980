import { LazaretError } from '../failure/errors.ts'

/** A rate limit refused the call before anything was attempted. */
export class RateLimitedError extends LazaretError {
  override readonly name = 'RateLimitedError'
  /** The time from which the next call is allowed, unless another caller takes that turn. */
  readonly retryAt: number

  constructor(subject: string, retryAt: number) {
    super(`${subject}: rate limit reached; retry after ${iso(retryAt)}, or raise rateLimit.perSecond`, {
      code: 'LAZARET_RATE_LIMITED',
      retryable: true,
    })
    this.retryAt = retryAt
  }
}

/** A time outside the range of Date is shown as a number, because creating an error must not fail. */
function iso(timeMs: number): string {
  const date = new Date(timeMs)
  return Number.isNaN(date.getTime()) ? String(timeMs) : date.toISOString()
}
