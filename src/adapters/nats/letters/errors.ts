import { LazaretError } from '../../../core/failure/errors.ts'

/** Messages were removed from a dead-letter stream before they were letters. */
export class LettersRemovedError extends LazaretError {
  override readonly name = 'LettersRemovedError'

  constructor(stream: string, from: number, to: number) {
    super(
      `stream '${stream}': the messages from ${from} to ${to - 1} are gone, so the collector continues at ${to}. If the limits of the stream removed dead letters, they are lost; raise its limits`,
      { code: 'LAZARET_COLLECTING_HELD_UP', retryable: false },
    )
  }
}
