import { LazaretError } from '../core/failure/errors.ts'

/** A call after `close()`. Earlier work was finished, returned to the broker or saved. */
export class ClosedError extends LazaretError {
  override readonly name = 'ClosedError'

  constructor(subject: string) {
    super(`${subject}: is closed; create a new one`, {
      code: 'LAZARET_CLOSED',
      retryable: false,
    })
  }
}
