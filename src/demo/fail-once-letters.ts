import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { DeadLetterStore, LetterChange } from '../ports/dead-letters.ts'
import { release, retain } from '../runtime/share.ts'

/** The dead-letter queue of the shop's tracking, which can lose its store for one letter. */
export function failOnceLetters(store: DeadLetterStore) {
  let willFail = false
  // The store has several users. `retain` keeps it open until the last of them has closed.
  retain(store)
  return {
    failNextSave(): void {
      willFail = true
    },
    async send(letter: DeadLetter): Promise<void> {
      if (!willFail) return store.send(letter)
      willFail = false
      throw Object.assign(new Error('the disk is busy'), { code: 'EBUSY' })
    },
    change: (id: string, change: LetterChange) => store.change(id, change),
    close: () => release(store),
  }
}
