import { parseRetryAfter } from '../../../core/failure/delay.ts'
import { type Clock, monotonicNow } from '../../../ports/clock.ts'
import type { SentryResponse } from './sdk.ts'

/** Sentry has separate limits for events and logs. */
export type SentryQuota = 'error' | 'log_item'

const DEFAULT_LIMIT_MS = 60_000

/**
 * How long Sentry asks to wait, by `X-Sentry-Rate-Limits` (which successes have too), Retry-After, or a bare 429. The SDK
 * keeps the same limits and drops events silently meanwhile, so it gets none.
 */
export class RateLimits {
  readonly #clock: Clock
  /** By the clock that never steps. */
  readonly #until: Record<SentryQuota, number> = { error: 0, log_item: 0 }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note({ statusCode, headers }: SentryResponse): void {
    const limits = headers?.['x-sentry-rate-limits']
    const retryAfter = headers?.['retry-after']
    if (limits) {
      for (const limit of limits.split(',')) this.#noteLimit(limit)
    } else if (retryAfter || statusCode === 429) {
      const waitMs = parseRetryAfter(retryAfter ?? undefined, this.#clock.now()) ?? DEFAULT_LIMIT_MS
      this.#hold(['error', 'log_item'], waitMs)
    }
  }

  /** Undefined if there is no limit. */
  waitMs(quota: SentryQuota): number | undefined {
    const leftMs = this.#until[quota] - monotonicNow(this.#clock)
    return leftMs > 0 ? Math.ceil(leftMs) : undefined
  }

  /** `60:error;transaction:organization:quota`; no categories are all of them. */
  #noteLimit(limit: string): void {
    const [seconds = '', categories = ''] = limit.trim().split(':')
    const held = (['error', 'log_item'] as const).filter(
      quota => categories === '' || categories.split(';').includes(quota),
    )
    const ms = Number.parseInt(seconds, 10) * 1_000
    this.#hold(held, Number.isNaN(ms) ? DEFAULT_LIMIT_MS : ms)
  }

  #hold(quotas: readonly SentryQuota[], waitMs: number): void {
    const until = monotonicNow(this.#clock) + waitMs
    for (const quota of quotas) this.#until[quota] = Math.max(this.#until[quota], until)
  }
}
