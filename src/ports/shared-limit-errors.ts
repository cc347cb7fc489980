import { LazaretError } from '../core/failure/errors.ts'

/** Asked after `close`. */
export class LimitClosedError extends LazaretError {
  override readonly name = 'LimitClosedError'

  constructor(limit: string) {
    super(`shared limit '${limit}': closed; close it after all that use it, or open it anew`, {
      code: 'LAZARET_STORE_CLOSED',
      retryable: false,
    })
  }
}
