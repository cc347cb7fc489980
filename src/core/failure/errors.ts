import type { ErrorCode } from './catalogue.ts'

interface LazaretErrorOptions {
  /** The literal code of the error. Its meaning never changes. */
  readonly code: ErrorCode
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** The error that caused this one [none]. */
  readonly cause?: unknown
}

/**
 * The root of every error that Lazaret throws. Branch on `code`, whose meaning never changes. The message is for people:
 * it names the subject, the received value and the remedy.
 */
export class LazaretError extends Error {
  override readonly name: string = 'LazaretError'
  readonly code: ErrorCode
  /** Whether the same call may succeed later. */
  readonly retryable: boolean

  constructor(message: string, options: LazaretErrorOptions) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = options.code
    this.retryable = options.retryable
  }
}
