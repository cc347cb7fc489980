/**
 * The kind of a failure. It travels with the dead letter and picks its quarantine.
 *
 * - `transient`: a dependency or the network is having a bad moment.
 * - `integration`: the other system answers, but refuses or breaks.
 * - `schema`: the payload has the wrong shape.
 * - `business`: a rule of the domain says no.
 * - `unknown`: nothing recognised it.
 */
export type Category = 'transient' | 'schema' | 'business' | 'integration' | 'unknown'

export const CATEGORIES = ['transient', 'schema', 'business', 'integration', 'unknown'] as const

/** The step that recognised the failure, kept so that a person can see why it was retried or given up on. */
export type DecidedBy =
  | 'error-itself'
  | 'handler-rule'
  | 'lazaret'
  /** A limit of our own refused the call, so the dependency was never asked. */
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

export interface Classification {
  readonly decidedBy: DecidedBy
  readonly category: Category
  readonly retryable: boolean
  /** A delay that the deciding rule names; a delay that the error itself names is read separately. */
  readonly retryAfterMs?: number
  /** The explicit key to group by. */
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

/** Anyone may write anything where a delay belongs; only a number one can wait for counts. */
export function usableDelayMs(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
