import { exponential } from './exponential.ts'
import type { RetryPolicy } from './retry-policy.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

export type RetryPreset = 'producer' | 'consumer' | 'outbox'

/**
 * One preset for each place where events wait. A producer's caller waits with it, so it is quick and gives up early;
 * a consumer's retries wait in the broker and an outbox's in its table, where a minute or five cost nothing.
 */
export const RETRY_PRESETS: { readonly [name in RetryPreset]: RetryPolicy } = Object.freeze({
  producer: preset({
    attempts: 4,
    backoff: exponential({ baseMs: 100, maxMs: 5 * SECOND_MS, multiplier: 2, jitter: { ratio: 0.1 } }),
    retryAfterMaxMs: MINUTE_MS,
  }),
  consumer: preset({
    attempts: 6,
    backoff: exponential({ baseMs: SECOND_MS, maxMs: MINUTE_MS, multiplier: 2, jitter: { ratio: 0.1 } }),
    retryAfterMaxMs: HOUR_MS,
  }),
  outbox: preset({
    attempts: 5,
    backoff: exponential({ baseMs: SECOND_MS, maxMs: 5 * MINUTE_MS, multiplier: 2, jitter: 'full' }),
    retryAfterMaxMs: HOUR_MS,
  }),
})

/** One attempt and no retry, for calls where the breaker alone decides. */
export const noRetry: RetryPolicy = Object.freeze({ ...RETRY_PRESETS.producer, attempts: 1 })

function preset(policy: Pick<RetryPolicy, 'attempts' | 'backoff' | 'retryAfterMaxMs'>): RetryPolicy {
  return Object.freeze({ ...policy, maxElapsedMs: undefined, byCategory: Object.freeze({}) })
}
