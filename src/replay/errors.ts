import { LazaretError } from '../core/failure/errors.ts'

/** The requested action on a replay is not possible now. Nothing was sent. */
export class ReplayRefusedError extends LazaretError {
  override readonly name = 'ReplayRefusedError'

  /** The problem continues the sentence `replay ID …`. */
  constructor(id: string, problem: string) {
    super(`replay ${id} ${problem}`, { code: 'LAZARET_REPLAY_REFUSED', retryable: false })
  }
}

/** For a minute no process of the fleet has sent a letter of the replay. The letters stay with the replay: another run continues it. */
export class ReplayUndeliveredError extends LazaretError {
  override readonly name = 'ReplayUndeliveredError'

  constructor(id: string, problem: string) {
    super(`replay ${id} is not delivered: ${problem}; fix that, and the next run continues the replay`, {
      code: 'LAZARET_REPLAY_UNDELIVERED',
      retryable: true,
    })
  }
}
