import { LazaretError } from '../../core/failure/errors.ts'

/** An attempt was given up on because its time was over. The work itself may still be running: see its signal. */
export class TimeoutError extends LazaretError {
  override readonly name = 'TimeoutError'
  readonly timeoutMs: number

  constructor(subject: string, timeoutMs: number) {
    super(
      `${subject}: no answer within ${timeoutMs} ms; raise timeoutMs if it needs longer, and pass the attempt's signal on so that the work stops too`,
      { code: 'LAZARET_TIMEOUT', retryable: true },
    )
    this.timeoutMs = timeoutMs
  }
}
