import { LazaretError } from '../../../core/failure/errors.ts'

/** Records were removed from a dead-letter topic before they were letters. */
export class LettersRemovedError extends LazaretError {
  override readonly name = 'LettersRemovedError'

  constructor(topic: string, partition: number, from: number, to: number) {
    super(
      `topic '${topic}': partition ${partition} has no record at ${from}, so the collector continues at ${to}. If retention removed dead letters, they are lost; give the topic a longer retention.ms`,
      { code: 'LAZARET_COLLECTING_HELD_UP', retryable: false },
    )
  }
}
