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

/** A stream counts its messages from 1 again, so that the collector reads it from its beginning. */
export class StreamRestartedError extends LazaretError {
  override readonly name = 'StreamRestartedError'

  constructor(stream: string, next: number) {
    super(
      `stream '${stream}' counts from 1 again, so the collector reads it from its first message; it had read up to ${next - 1}. The server was killed and has lost its count; use three replicas`,
      { code: 'LAZARET_COLLECTING_HELD_UP', retryable: false },
    )
  }
}
