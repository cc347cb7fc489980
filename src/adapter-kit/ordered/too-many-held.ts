import { LazaretError } from '../../core/failure/errors.ts'

/** More events wait for others of their key than the consumer may keep in mind. */
export class TooManyHeldError extends LazaretError {
  override readonly name = 'TooManyHeldError'

  /** `source` is the stream or the partition. */
  constructor(source: string, limit: number) {
    super(
      `${source}: ${limit} events wait for others of their key; replay or discard the dead letters that block these keys`,
      { code: 'LAZARET_BROKER_FULL', retryable: true },
    )
  }
}
