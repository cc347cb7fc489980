import type { Category, DecidedBy } from './classification.ts'
import type { Fingerprint } from './fingerprint.ts'

export type { Category, DecidedBy } from './classification.ts'

/** What an attempt ended with: plain data, bounded in size, fit to be stored and shown. */
export interface Failure {
  readonly name: string
  readonly message: string
  /** The nearest code in the chain of causes: the wrapper of a refused connection still says ECONNREFUSED. */
  readonly code: string | undefined
  readonly category: Category
  readonly retryable: boolean
  readonly decidedBy: DecidedBy
  /** The wait that the error or its server asks for. Not capped here: that is the retry policy's business. */
  readonly retryAfterMs: number | undefined
  /** Worked out when it is first read: reading a stack costs more than all the rest, and not every retry needs it. */
  readonly fingerprint: Fingerprint
  /** Only when asked for. */
  readonly stack?: string
}

/**
 * Whether a breaker should count it. A failure that would come again for this event alone (a wrong shape, a domain
 * rule, anything permanent) says nothing about the dependency; neither does a call that our own limiter held back.
 */
export function isDependencyFailure(failure: Failure): boolean {
  if (!failure.retryable || failure.decidedBy === 'own-limit') return false
  return failure.category !== 'schema' && failure.category !== 'business'
}
