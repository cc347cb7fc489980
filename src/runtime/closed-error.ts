import { LazaretError } from '../core/failure/errors.ts'

/** It was closed, so it takes nothing more. What it had taken before was finished, given back or saved. */
export class ClosedError extends LazaretError {
  override readonly name = 'ClosedError'

  constructor(subject: string) {
    super(`${subject}: is closed; create a new one`, {
      code: 'LAZARET_CLOSED',
      retryable: false,
    })
  }
}
