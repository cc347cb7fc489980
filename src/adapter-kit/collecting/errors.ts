import { LazaretError } from '../../core/failure/errors.ts'

/**
 * Dead letters stay in their queue or topic for the moment. The problem is reported once, and the collector retries until
 * it succeeds.
 */
export class NotCollectedError extends LazaretError {
  override readonly name = 'NotCollectedError'

  constructor(subject: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`${subject}: ${why}; no letter is lost, and the collector keeps retrying`, {
      code: 'LAZARET_COLLECTING_HELD_UP',
      retryable: true,
      cause,
    })
  }
}
