import { LazaretError } from '../core/failure/errors.ts'

/** A part of a store was used after `close`. */
export class StoreClosedError extends LazaretError {
  override readonly name = 'StoreClosedError'

  constructor(part: string) {
    super(`${part}: closed; use it before close(), or open it anew`, {
      code: 'LAZARET_STORE_CLOSED',
      retryable: false,
    })
  }
}

/** Replays have ids of their own; two with the same one are a mistake, and so are two items with the same position. */
export class ReplayExistsError extends LazaretError {
  override readonly name = 'ReplayExistsError'

  constructor(id: string, why: 'exists' | 'incomplete' = 'exists') {
    const problem =
      why === 'exists'
        ? 'is there already; give a new one another id'
        : 'not all of its items can be kept; give each a position of its own, and plan it again'
    super(`replay ${id}: ${problem}`, { code: 'LAZARET_REPLAY_REFUSED', retryable: false })
  }
}
