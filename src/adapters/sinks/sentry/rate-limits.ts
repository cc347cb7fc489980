import { parseRetryAfter } from '../../../core/failure/delay.ts'
import type { SentryResponse } from './sdk.ts'

/** What Sentry counts apart: events and logs have limits of their own. */
export type SentryQuota = 'error' | 'log_item'

const DEFAULT_LIMIT_MS = 60_000

/**
 * How long Sentry wants to be left alone, by `X-Sentry-Rate-Limits`, which comes with successes too, by Retry-After, or
 * by a bare 429. The SDK keeps the same account and drops in silence what comes meanwhile, so nothing is handed to it.
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

  /** Undefined when there is no limit. */
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
