import { LazaretError } from '../core/failure/errors.ts'

/** The server does not listen; nothing was started. */
export class ListenError extends LazaretError {
  override readonly name = 'ListenError'

  constructor(problem: string) {
    super(`server: ${problem}`, { code: 'LAZARET_LISTEN_REFUSED', retryable: false })
  }
}
