import type { Category, DecidedBy } from './classification.ts'
import type { Fingerprint } from './fingerprint.ts'

export type { Category, DecidedBy } from './classification.ts'

/** The result of a failed attempt: plain data of bounded size that can be stored and shown. */
export interface Failure {
  readonly name: string
  readonly message: string
  /** The nearest code in the chain of causes, such as ECONNREFUSED below a wrapper. */
  readonly code: string | undefined
  readonly category: Category
  readonly retryable: boolean
  readonly decidedBy: DecidedBy
  /** The wait that the error or its server asks for. The retry policy limits it. */
  readonly retryAfterMs: number | undefined
  /** Computed when it is first read: parsing a stack costs more than everything else, and not every retry needs it. */
  readonly fingerprint: Fingerprint
  /** Present only if the option `stack` asks for it. */
  readonly stack?: string
}

/**
 * Whether a breaker counts the failure. A permanent failure, a wrong shape or a domain rule says nothing about the
 * dependency. The same is true for a call that Lazaret's own limiter refused.
 */
export function isDependencyFailure(failure: Failure): boolean {
  if (!failure.retryable || failure.decidedBy === 'own-limit') return false
  return failure.category !== 'schema' && failure.category !== 'business'
}
