import { parseRetryAfter } from '../../../core/failure/delay.ts'
import type { SentryResponse } from './sdk.ts'

/** Sentry has separate limits for events and logs. */
export type SentryQuota = 'error' | 'log_item'

const DEFAULT_LIMIT_MS = 60_000

/**
 * How long Sentry asks to wait, by `X-Sentry-Rate-Limits` (which successes have too), Retry-After, or a bare 429. The SDK
 * keeps the same limits and drops events silently meanwhile, so it gets none.
 */
export class RateLimits {
  readonly #until: Record<SentryQuota, number> = { error: 0, log_item: 0 }

  note({ statusCode, headers }: SentryResponse, now: number): void {
    const limits = headers?.['x-sentry-rate-limits']
    const retryAfter = headers?.['retry-after']
    if (limits) {
      for (const limit of limits.split(',')) this.#noteLimit(limit, now)
    } else if (retryAfter || statusCode === 429) {
      this.#hold(
        ['error', 'log_item'],
        now + (parseRetryAfter(retryAfter ?? undefined, now) ?? DEFAULT_LIMIT_MS),
      )
    }
  }

  /** Undefined if there is no limit. */
  waitMs(quota: SentryQuota, now: number): number | undefined {
    const until = this.#until[quota]
    return until > now ? until - now : undefined
  }

  /** `60:error;transaction:organization:quota`; no categories are all of them. */
  #noteLimit(limit: string, now: number): void {
    const [seconds = '', categories = ''] = limit.trim().split(':')
    const held = (['error', 'log_item'] as const).filter(
      quota => categories === '' || categories.split(';').includes(quota),
    )
    const ms = Number.parseInt(seconds, 10) * 1_000
    this.#hold(held, now + (Number.isNaN(ms) ? DEFAULT_LIMIT_MS : ms))
  }

  #hold(quotas: readonly SentryQuota[], until: number): void {
    for (const quota of quotas) this.#until[quota] = Math.max(this.#until[quota], until)
  }
}
