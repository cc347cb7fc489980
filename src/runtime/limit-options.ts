import {
  type EventLimitPolicy,
  type EventLimitOptions as OneProcessEventLimitOptions,
  type RateLimitOptions as OneProcessRateLimitOptions,
  type RetryLimitOptions as OneProcessRetryLimitOptions,
  eventLimitRule as oneProcessEventLimitRule,
  rateLimitRule as oneProcessRateLimitRule,
  retryLimitRule as oneProcessRetryLimitRule,
  type RateLimitPolicy,
  type RetryLimitPolicy,
} from '../core/limit/options.ts'
import { resolveBy } from '../core/options/resolve.ts'
import type { Rule } from '../core/options/rules.ts'
import type { SharedLimit } from '../ports/shared-limit.ts'
import { port } from './option-rules.ts'

/** The limit may be one for many processes. */
interface SharedLimitOption {
  /** Keeps the limit for all processes that share it, such as `redisLimit(…)`; each has its own if left out. */
  readonly shared?: SharedLimit | undefined
}

export interface RateLimitOptions extends OneProcessRateLimitOptions, SharedLimitOption {}
export interface EventLimitOptions extends OneProcessEventLimitOptions, SharedLimitOption {}
export interface RetryLimitOptions extends OneProcessRetryLimitOptions, SharedLimitOption {}

export type Shareable<P> = P & SharedLimitOption

const sharedRule = port<SharedLimit>('a shared limit', 'reserve', 'leave', 'close')

/** Reads `shared` beside the options of a limit. */
function shareable<P extends object>(rule: Rule<P>): Rule<Shareable<P>> {
  return {
    read(value, path, faults) {
      if (typeof value !== 'object' || value === null || !('shared' in value) || value.shared === undefined)
        return Object.freeze({ ...rule.read(value, path, faults), shared: undefined })
      const { shared, ...options } = value
      const keeper = sharedRule.read(shared, `${path}.shared`, faults)
      if ('batch' in options && options.batch !== undefined)
        faults.add(
          `${path}.batch`,
          options.batch,
          'leave it out beside shared: a fleet keeps an even pace, give perSecond',
        )
      return Object.freeze({ ...rule.read(options, path, faults), shared: keeper })
    },
  }
}

export const rateLimitRule: Rule<Shareable<RateLimitPolicy>> = shareable(oneProcessRateLimitRule)
export const eventLimitRule: Rule<Shareable<EventLimitPolicy>> = shareable(oneProcessEventLimitRule)
export const retryLimitRule: Rule<Shareable<RetryLimitPolicy>> = shareable(oneProcessRetryLimitRule)

export function resolveRateLimit(input: RateLimitOptions): Shareable<RateLimitPolicy> {
  return resolveBy('rateLimit', rateLimitRule, input)
}

export function resolveRetryLimit(input: RetryLimitOptions | undefined): Shareable<RetryLimitPolicy> {
  return resolveBy('retryLimit', retryLimitRule, input)
}
