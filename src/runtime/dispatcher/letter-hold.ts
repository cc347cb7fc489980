import type { DeadLetter } from '../../core/dead-letter/letter.ts'

/**
 * The right of this process to send a letter of a replay. While a process stands still, the others take it for gone and send
 * its letters. So a lane reads `isSure` directly before each write, and asks the store if the last answer is too old.
 */
export interface LetterHold {
  /** The last answer of the store is so new that nobody else sends the letter yet. */
  readonly isSure: boolean
  /** Asks the store. Resolves with false if the letter is somebody else's now, and rejects if the store does not say. */
  confirm(): Promise<boolean>
  /** From now on the other hold counts: the same process has got the letter again while it sends it. */
  follow(hold: LetterHold): void
}

const HOLDS = new WeakMap<DeadLetter, LetterHold>()

/** Returns the letter, which the dispatcher sends only under the hold. */
export function underHold(letter: DeadLetter, hold: LetterHold): DeadLetter {
  HOLDS.set(letter, hold)
  return letter
}

/** The hold under which a letter is sent; undefined if nobody else can have it. */
export function holdOf(letter: DeadLetter): LetterHold | undefined {
  return HOLDS.get(letter)
}
