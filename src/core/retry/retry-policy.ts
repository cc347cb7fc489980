import type { Category } from '../failure/failure.ts'
import type { Backoff } from './backoff.ts'

/** Retry options with every default filled in. It can be passed as options again. */
export interface RetryPolicy {
  readonly attempts: number
  readonly backoff: Backoff
  readonly maxElapsedMs: number | undefined
  readonly retryAfterMaxMs: number
  readonly byCategory: { readonly [C in Category]?: CategoryRetry }
}

export interface CategoryRetry {
  readonly attempts: number
  readonly backoff: Backoff
}
