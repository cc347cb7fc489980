import type { CauseChain } from './chain.ts'
import { type Category, type Classification, isCategory, usableDelayMs } from './classification.ts'
import type { Thrown } from './thrown.ts'

type ErrorClass = abstract new (...args: never[]) => Error

/**
 * The meaning of some errors of a handler. Set `retryable`, `category` or `retryAfterMs`; the others follow from it: a
 * delay means a retry, schema and business mean giving up, and giving up means business.
 */
export interface FailureRule {
  /** The errors that match: a class, the name or code of an error, or your own function. */
  readonly when: ErrorClass | string | ((error: unknown) => boolean)
  /** Whether a retry may succeed [follows from `retryAfterMs` and `category`]. */
  readonly retryable?: boolean | undefined
  /** The category of the failure [follows from `retryable`]. Retries can differ by category. */
  readonly category?: Category | undefined
  /** The wait before the next attempt, in ms. It replaces the delay of the retry policy [none]. */
  readonly retryAfterMs?: number | undefined
  /** Puts all errors of this rule into one group with this key [computed from the error]. */
  readonly fingerprint?: string | undefined
}

/** The first rule that matches any error of the chain decides, because people read a list from the top. */
export function applyRules(rules: readonly FailureRule[], chain: CauseChain): Classification | undefined {
  for (const rule of rules) {
    if (chain.some(thrown => appliesTo(rule, thrown))) return verdictOf(rule)
  }
  return undefined
}

/** A rule that throws is skipped, so that it does not replace the original failure by its own. */
function appliesTo({ when }: FailureRule, thrown: Thrown): boolean {
  try {
    if (typeof when === 'string') return when === thrown.name || when === thrown.code
    if (isErrorClass(when)) return thrown.value instanceof when
    return when(thrown.value) === true
  } catch {
    return false
  }
}

export function isErrorClass(value: unknown): value is ErrorClass {
  return typeof value === 'function' && (value === Error || value.prototype instanceof Error)
}

function verdictOf(rule: FailureRule): Classification {
  const retryAfterMs = usableDelayMs(rule.retryAfterMs)
  const hopeless = rule.category === 'schema' || rule.category === 'business'
  const retryable = rule.retryable ?? (retryAfterMs !== undefined || !hopeless)
  return {
    decidedBy: 'handler-rule',
    retryable,
    category: isCategory(rule.category) ? rule.category : retryable ? 'transient' : 'business',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(rule.fingerprint ? { fingerprint: rule.fingerprint } : {}),
  }
}
