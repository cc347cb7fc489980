import { group, type Relations, type Resolved } from '../options/resolve.ts'
import {
  derived,
  integer,
  milliseconds,
  number,
  oneOf,
  optional,
  type Rule,
  withDefault,
} from '../options/rules.ts'
import type { Batch } from './batch.ts'
import { type BypassOptions, type BypassPolicy, bypassRule } from './bypass.ts'
import { type Rate, rate } from './gcra.ts'

/** A limit on how many may start in a second. */
export interface RateLimitOptions {
  /** Starts per second. Fractions are allowed: 0.5 is one start in two seconds. */
  readonly perSecond: number
  /** Starts that may happen at once after a quiet time [one second's worth, at least 1]. */
  readonly burst?: number | undefined
}

/** The limit on new events, and who does not count towards it. */
export interface EventLimitOptions extends RateLimitOptions {
  /** The events that the limit does not apply to [events of severity error or fatal]. */
  readonly bypass?: BypassOptions | undefined
}

/** What becomes of a retry over the limit: it waits for its turn, it is given up on, or it becomes a dead letter. */
type OnRetryLimit = 'delay' | 'drop' | 'dead-letter'

/** A limit for retries alone, so that a dependency that comes back is not knocked over by all who waited for it. */
export interface RetryLimitOptions {
  /** Retries per second [100]. Lower it for a dependency that recovers slowly. */
  readonly perSecond?: number | undefined
  /**
   * What happens to a retry over the limit: it waits for its turn, it is dropped, or it becomes a dead letter
   * [delay].
   */
  readonly onLimit?: OnRetryLimit | undefined
  /**
   * Delays each retry at random by up to this many intervals (1 / `perSecond`) after its turn [0]. A half-open second
   * can then see `perSecond` + `jitterRatio` starts, rounded up.
   */
  readonly jitterRatio?: number | undefined
  /** Releases retries in batches, in place of `perSecond` [off]. */
  readonly batch?: BatchOptions | undefined
  /** A retry that would wait longer than this many ms becomes a dead letter [no limit]. */
  readonly maxWaitMs?: number | undefined
}

interface BatchOptions {
  /** Retries in a batch [100]. */
  readonly size?: number | undefined
  /** The time between the starts of two batches, in ms [1 000]. */
  readonly everyMs?: number | undefined
}

const DEFAULT_RETRY_LIMIT_PER_SECOND = 100
const DEFAULT_BATCH_SIZE = 100
const DEFAULT_BATCH_EVERY_MS = 1_000
/** Beyond this the slots of a rate are no longer exact numbers. */
const HIGHEST_PER_SECOND = 4_000_000

/** Rate limit options with every default filled in. */
export interface RateLimitPolicy {
  readonly perSecond: number
  readonly burst: number
}

export interface EventLimitPolicy extends RateLimitPolicy {
  readonly bypass: BypassPolicy
}

/** Retry limit options with every default filled in. */
export interface RetryLimitPolicy {
  readonly onLimit: OnRetryLimit
  readonly jitterRatio: number
  readonly maxWaitMs: number | undefined
  readonly pacing: RetryPacing
}

export type RetryPacing =
  | { readonly kind: 'smooth'; readonly rate: Rate }
  | { readonly kind: 'batch'; readonly batch: Batch }

/** Retry limits for three environments, for the option `retryLimit`. */
export const RETRY_LIMIT_PRESETS = Object.freeze({
  production: Object.freeze({ perSecond: 50, onLimit: 'delay', jitterRatio: 1.5 }),
  staging: Object.freeze({ perSecond: 100, onLimit: 'delay', jitterRatio: 1 }),
  development: Object.freeze({ perSecond: 1_000, onLimit: 'dead-letter', jitterRatio: 0.5 }),
} satisfies Record<string, RetryLimitOptions>)

/** The retry limit of consumers and of the sinks of a dispatcher that set none. */
const DEFAULT_RETRY_LIMIT = RETRY_LIMIT_PRESETS.staging

const perSecond = number({ min: 0, above: true, max: HIGHEST_PER_SECOND })
const count = integer({ min: 1, max: HIGHEST_PER_SECOND })

const rateLimitRules = { perSecond, burst: optional(count) }

const retryLimitRules = {
  perSecond: withDefault(perSecond, DEFAULT_RETRY_LIMIT_PER_SECOND),
  onLimit: withDefault(oneOf('delay', 'drop', 'dead-letter'), 'delay'),
  jitterRatio: withDefault(number({ min: 0, max: 100 }), 0),
  batch: optional(
    group({
      size: withDefault(count, DEFAULT_BATCH_SIZE),
      everyMs: withDefault(milliseconds({ min: 1 }), DEFAULT_BATCH_EVERY_MS),
    }),
  ),
  maxWaitMs: optional(milliseconds()),
}

const retryLimitRelations: Relations<typeof retryLimitRules> = ({ batch, jitterRatio }, fault) => {
  if (batch !== undefined && jitterRatio > 0) {
    fault('jitterRatio', 'use 0 with batch: jitter could make two batches overlap')
  }
}

/** For options that contain a limit, which report its faults together with their own. */
export const rateLimitRule: Rule<RateLimitPolicy> = derived(group(rateLimitRules), withBurst)
export const retryLimitRule: Rule<RetryLimitPolicy> = derived(
  group(retryLimitRules, retryLimitRelations),
  resolvePacing,
)
/** For an option whose absence means the default limit; `{}` and its fields have the defaults of `RetryLimitOptions`. */
export function withDefaultRetryLimit<P>(rule: Rule<P>): Rule<P> {
  return {
    form: rule.form,
    read: (value, path, faults) => rule.read(value ?? DEFAULT_RETRY_LIMIT, path, faults),
  }
}
export const eventLimitRule: Rule<EventLimitPolicy> = derived(
  group({ ...rateLimitRules, bypass: bypassRule }),
  ({ bypass, ...limit }) => Object.freeze({ ...withBurst(limit), bypass }),
)

function withBurst(given: Resolved<typeof rateLimitRules>): RateLimitPolicy {
  const { perSecond, burst } = rate(given)
  return Object.freeze({ perSecond, burst })
}

function resolvePacing(given: Resolved<typeof retryLimitRules>): RetryLimitPolicy {
  const { onLimit, jitterRatio, maxWaitMs, batch, perSecond } = given
  // A burst of 1: whatever waited for the dependency is spread from its first retry on.
  const pacing: RetryPacing = batch
    ? { kind: 'batch', batch }
    : { kind: 'smooth', rate: rate({ perSecond, burst: 1 }) }
  return Object.freeze({ onLimit, jitterRatio, maxWaitMs, pacing: Object.freeze(pacing) })
}
