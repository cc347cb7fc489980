import { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import { LetterSaver } from '../../../adapter-kit/collecting/letter-saver.ts'
import type { DeadLetterStore } from '../../../ports/dead-letters.ts'
import type { AmqpMessage } from '../connection/amqp.ts'
import { collect } from './letter.ts'
import type { CollectorSettings } from './options.ts'

/** Saves messages in the store. While the store is down, the callers keep the messages, and the saver tries again. */
export class Saver {
  readonly #settings: CollectorSettings
  readonly #letters: LetterSaver
  readonly #failures = new FailureCache()

  constructor(settings: CollectorSettings, store: DeadLetterStore) {
    this.#settings = settings
    const { name, clock } = settings.connection
    this.#letters = new LetterSaver({ name, clock, onError: settings.onError }, store)
  }

  /** Resolves to true when the letter is durable, and to false if it is no longer wanted. */
  save(message: AmqpMessage, queue: string, isWanted: () => boolean): Promise<boolean> {
    const { clock, name: broker } = this.#settings.connection
    const { letter, isTimeKnown } = collect(message, {
      broker,
      queue,
      now: clock.now(),
      failures: this.#failures,
    })
    // A queue that is drained does not have the message any more.
    const mayBeKnown = this.#settings.mode === 'peek' && !isTimeKnown
    return this.#letters.save({ letter, content: message.content, mayBeKnown }, isWanted)
  }
}
