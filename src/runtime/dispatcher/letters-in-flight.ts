import type { LetterHold } from './letter-hold.ts'

/**
 * The letters that a dispatcher sends again, until their outcome is known. All who replay in this process share them, because a
 * runner or delivery that starts after another one has stopped must not send these letters again.
 */
export class LettersInFlight {
  readonly #holds = new Map<string, LetterHold | undefined>()

  get size(): number {
    return this.#holds.size
  }

  /** Sends the letter. A letter that is in flight is not sent again: it goes on under the new hold, and the result is undefined. */
  send<T>(letterId: string, hold: LetterHold | undefined, send: () => Promise<T>): Promise<T> | undefined {
    if (this.#holds.has(letterId)) {
      if (hold !== undefined) this.#holds.get(letterId)?.follow(hold)
      return undefined
    }
    this.#holds.set(letterId, hold)
    return send().finally(() => this.#holds.delete(letterId))
  }
}

const LETTERS_IN_FLIGHT = new WeakMap<object, LettersInFlight>()

export function lettersInFlight(dispatcher: object): LettersInFlight {
  const known = LETTERS_IN_FLIGHT.get(dispatcher) ?? new LettersInFlight()
  LETTERS_IN_FLIGHT.set(dispatcher, known)
  return known
}
