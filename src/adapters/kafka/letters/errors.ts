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

/** A dead-letter topic was deleted and created again. */
export class LetterTopicRecreatedError extends LazaretError {
  override readonly name = 'LetterTopicRecreatedError'

  constructor(topic: string) {
    super(
      `topic '${topic}': was deleted and created again, so the collector reads it from its first record. Dead letters of the deleted topic that were not collected are lost; wait until a topic is collected before you delete it`,
      { code: 'LAZARET_COLLECTING_HELD_UP', retryable: false },
    )
  }
}
