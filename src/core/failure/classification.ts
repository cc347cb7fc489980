/**
 * The kind of a failure. The dead letter keeps it, and it selects the quarantine queue.
 *
 * - `transient`: a dependency or the network fails for a while.
 * - `integration`: the dependency answers, but refuses the call or fails.
 * - `schema`: the payload has the wrong shape.
 * - `business`: a rule of the domain refuses the event.
 * - `unknown`: no rule recognised the failure.
 */
export type Category = 'transient' | 'schema' | 'business' | 'integration' | 'unknown'

export const CATEGORIES = ['transient', 'schema', 'business', 'integration', 'unknown'] as const

/** The step that recognised the failure. A person can see from it why Lazaret retried or gave up. */
export type DecidedBy =
  | 'error-itself'
  | 'handler-rule'
  | 'lazaret'
  /** A limit of Lazaret refused the call, so the dependency was not called. */
  | 'own-limit'
  | 'timeout'
  | 'validation'
  | 'json-syntax'
  | 'sqlstate'
  | 'amqp-reply'
  | 'redis-reply'
  | 'http-status'
  | 'system-code'
  | 'error-name'
  | 'unknown'

/** The meaning of an error: what kind of failure it is, and whether a retry can succeed. */
export interface Classification {
  readonly decidedBy: DecidedBy
  readonly category: Category
  readonly retryable: boolean
  /** The delay that the deciding rule sets. A delay in the error itself is read separately. */
  readonly retryAfterMs?: number
  /** The explicit key of the group. */
  readonly fingerprint?: string
}

export const UNKNOWN: Classification = { decidedBy: 'unknown', category: 'unknown', retryable: true }

export function again(decidedBy: DecidedBy, category: Category): Classification {
  return { decidedBy, category, retryable: true }
}

export function giveUp(decidedBy: DecidedBy, category: Category): Classification {
  return { decidedBy, category, retryable: false }
}

export function isCategory(value: unknown): value is Category {
  return CATEGORIES.some(category => category === value)
}

/** Returns the delay if it is a number that can be waited for. Errors may contain any value in its place. */
export function usableDelayMs(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
