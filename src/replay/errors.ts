import { LazaretError } from '../core/failure/errors.ts'

/** The requested action on a replay is not possible now. Nothing was sent. */
export class ReplayRefusedError extends LazaretError {
  override readonly name = 'ReplayRefusedError'

  /** The problem continues the sentence `replay ID …`. */
  constructor(id: string, problem: string) {
    super(`replay ${id} ${problem}`, { code: 'LAZARET_REPLAY_REFUSED', retryable: false })
  }
}
