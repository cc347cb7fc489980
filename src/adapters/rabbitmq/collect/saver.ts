import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { DeadLetterStore } from '../../../ports/dead-letters.ts'
import { rest } from '../../../ports/waiting.ts'
import type { AmqpMessage } from '../amqp.ts'
import { NotCollectedError } from '../errors.ts'
import { Failures } from './failures.ts'
import { collect } from './letter.ts'
import type { CollectorSettings } from './options.ts'

const FIRST_REST_MS = 250
const LONGEST_REST_MS = 15_000

/** Brings messages into the store. While it is down they wait with whoever has them, and are tried again. */
export class Saver {
  readonly #settings: CollectorSettings
  readonly #store: DeadLetterStore
  readonly #failures = new Failures()
  /** Told once for as long as it lasts, not once for every letter. */
  #isFailing = false

  constructor(settings: CollectorSettings, store: DeadLetterStore) {
    this.#settings = settings
    this.#store = store
  }

  /** True when it is durable; false when it is not wanted any more. */
  async save(message: AmqpMessage, queue: string, isWanted: () => boolean): Promise<boolean> {
    const { connection, mode } = this.#settings
    const { clock, name: broker } = connection
    const { letter, isTimeKnown } = collect(message, {
      broker,
      queue,
      now: clock.now(),
      failures: this.#failures,
    })
    for (let restMs = FIRST_REST_MS; isWanted(); restMs = Math.min(LONGEST_REST_MS, restMs * 2)) {
      try {
        // Seen before, and nothing says that it failed anew since: with a new time it would look as if it had.
        const isOld = mode === 'peek' && !isTimeKnown && (await this.#store.get(letter.id)) !== undefined
        if (!isOld) await this.#store.send(letter)
        this.#isFailing = false
        return true
      } catch (error) {
        this.#tell(error, letter)
        await rest(clock, restMs)
      }
    }
    return false
  }

  #tell(error: unknown, { channel }: DeadLetter): void {
    if (this.#isFailing) return
    this.#isFailing = true
    const { name } = this.#settings.connection
    this.#settings.onError(new NotCollectedError(`collector '${name}': saving letters of ${channel}`, error))
  }
}
