// The public door. Every name is exported one by one, so that a change of the surface is seen.

export { BreakerOpenError } from './core/breaker/errors.ts'
export {
  BREAKER_PRESETS,
  type BreakerOptions,
  type BreakerPolicy,
  type FailureRateOptions,
} from './core/breaker/options.ts'
export type { BreakerMode, BreakerState } from './core/breaker/state.ts'
export { fromCloudEvent, toCloudEvent } from './core/event/cloudevents.ts'
export { EventError } from './core/event/errors.ts'
export type { EventInput, LazaretEvent } from './core/event/event.ts'
export { DEFAULT_EVENT_LIMITS, type EventLimits } from './core/event/limits.ts'
export type { ErrorCode } from './core/failure/catalogue.ts'
export { classify } from './core/failure/classify.ts'
export { LazaretError } from './core/failure/errors.ts'
export type { Category, Failure } from './core/failure/failure.ts'
export type { FailureRule } from './core/failure/failure-rule.ts'
export type { Fingerprint } from './core/failure/fingerprint.ts'
export { PermanentError, RetryAfterError, TransientError } from './core/failure/signals.ts'
export { RateLimitedError } from './core/limit/errors.ts'
export { type RateLimitOptions, RETRY_LIMIT_PRESETS, type RetryLimitOptions } from './core/limit/options.ts'
export { type Fault, OptionsError } from './core/options/faults.ts'
export type { Random } from './core/random.ts'
export type { Backoff } from './core/retry/backoff.ts'
export type { BudgetOptions } from './core/retry/budget.ts'
export { decorrelated } from './core/retry/decorrelated.ts'
export { exponential } from './core/retry/exponential.ts'
export { fixed } from './core/retry/fixed.ts'
export type { Jitter } from './core/retry/jitter.ts'
export { linear } from './core/retry/linear.ts'
export type { RetryOptions, RetryPolicy } from './core/retry/policy.ts'
export { noRetry, RETRY_PRESETS } from './core/retry/presets.ts'
export { tiers } from './core/retry/tiers.ts'
export type { Cancel, Clock } from './ports/clock.ts'
export type { GiveUpReason, Observations, Observer } from './ports/observer.ts'
export type { AttemptContext } from './runtime/attempt-context.ts'
export { type Breaker, type BreakerSnapshot, createBreaker } from './runtime/breaker.ts'
export {
  createRateLimiter,
  createRetryBudget,
  createRetryLimiter,
  type RateLimiter,
  type RetryBudget,
  type RetryLimiter,
} from './runtime/limiters.ts'
export { type Resilient, type RunOptions, resilient } from './runtime/resilient.ts'
export type { ResilientOptions } from './runtime/resilient-options.ts'
export { TimeoutError } from './runtime/timeout-error.ts'
