import type { Category } from '../failure/failure.ts'
import { group, type Resolved } from '../options/resolve.ts'
import { derived, integer, milliseconds, optional, type Rule } from '../options/rules.ts'
import { type Backoff, delayRule } from './backoff.ts'
import { type BackoffOptions, backoffRule } from './backoff-options.ts'
import { RETRY_PRESETS, type RetryPreset } from './presets.ts'
import type { CategoryRetry, RetryPolicy } from './retry-policy.ts'

/** What may be set of a retry policy; what is left out comes from the preset of its side. */
export interface RetryOptions {
  /**
   * All attempts, the first one included: 5 retries are 6 attempts [producer: 4; consumer: 6; outbox: 5; with
   * `tiers`: what the tiers provide].
   */
  readonly attempts?: number | undefined
  /**
   * How long to wait before each retry: `exponential()`, `linear()`, `fixed()`, `decorrelated()` or `tiers()`, or the same
   * as data, such as `{ kind: 'fixed', delayMs: 500 }` [exponential with 10 % jitter; producer: from 100 ms up to 5 s; consumer: from 1 s up to 1 min; outbox: from 1 s
   * up to 5 min with full jitter].
   */
  readonly backoff?: Backoff | BackoffOptions | undefined
  /** No retry starts later than this many ms after the first attempt started [no limit]. */
  readonly maxElapsedMs?: number | undefined
  /**
   * The longest wait that a Retry-After header or an error with its own delay can ask for, in ms [producer: 60 000;
   * consumer and outbox: 3 600 000].
   */
  readonly retryAfterMaxMs?: number | undefined
  /** Attempts and backoff that differ for failures of one category [none]. */
  readonly byCategory?: { readonly [C in Category]?: CategoryRetryOptions | undefined } | undefined
}

interface CategoryRetryOptions {
  /** All attempts for failures of this category, the first one included [`attempts` of the policy]. */
  readonly attempts?: number | undefined
  /** The waits before retries of failures of this category [`backoff` of the policy]. */
  readonly backoff?: Backoff | BackoffOptions | undefined
}

const limits = { attempts: optional(integer({ min: 1 })), backoff: optional(backoffRule) }
const ofCategory = optional(group(limits))

const rules = {
  ...limits,
  maxElapsedMs: optional(milliseconds()),
  retryAfterMaxMs: optional(delayRule),
  byCategory: group({
    transient: ofCategory,
    schema: ofCategory,
    business: ofCategory,
    integration: ofCategory,
    unknown: ofCategory,
  } satisfies Record<Category, unknown>),
}

/** For the options of a consumer or dispatcher, which report a retry policy's faults together with their own. */
export function retryRule(preset: RetryPreset): Rule<RetryPolicy> {
  return derived(group(rules), given => completed(given, RETRY_PRESETS[preset]))
}

function completed(given: Resolved<typeof rules>, defaults: RetryPolicy): RetryPolicy {
  const general = withFallback(given, defaults)
  const byCategory: { [C in Category]?: CategoryRetry } = {}
  for (const [category, own] of Object.entries(given.byCategory)) {
    if (own !== undefined) byCategory[category as Category] = Object.freeze(withFallback(own, general))
  }
  return Object.freeze({
    ...general,
    maxElapsedMs: given.maxElapsedMs ?? defaults.maxElapsedMs,
    retryAfterMaxMs: given.retryAfterMaxMs ?? defaults.retryAfterMaxMs,
    byCategory: Object.freeze(byCategory),
  })
}

function withFallback(given: Partial<Resolved<typeof limits>>, fallback: CategoryRetry): CategoryRetry {
  const { backoff = fallback.backoff, attempts } = given
  const provided = given.backoff?.retries === undefined ? fallback.attempts : 1 + given.backoff.retries
  return { attempts: attempts ?? provided, backoff }
}
