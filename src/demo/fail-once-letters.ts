import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { DeadLetterStore, LetterChange } from '../ports/dead-letters.ts'
import { release, retain } from '../runtime/share.ts'

/** The way of the shop's tracking to the letters. Once it is told to, it loses the store for one letter. */
export class FailOnceLetters implements Pick<DeadLetterStore, 'send' | 'change' | 'close'> {
  readonly #store: DeadLetterStore
  #willFail = false

  constructor(store: DeadLetterStore) {
    this.#store = store
    // It is a user of the store like any other: who closes first leaves it to the rest.
    retain(store)
  }

  failNextSave(): void {
    this.#willFail = true
  }

  async send(letter: DeadLetter): Promise<void> {
    if (this.#willFail) {
      this.#willFail = false
      throw Object.assign(new Error('the disk is busy'), { code: 'EBUSY' })
    }
    await this.#store.send(letter)
  }

  change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    return this.#store.change(id, change)
  }

  close(): Promise<void> {
    return release(this.#store)
  }
}
