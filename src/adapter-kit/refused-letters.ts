/** After this many refusals in a row the target counts as unreachable. */
const MAX_REFUSALS = 5

/**
 * The letters of a spill that could not be sent, and the order in which a drain tries letters.
 *
 * One refusal says little: the target may refuse this letter for good, such as when it cannot read its stored version, or
 * it may be unreachable. So a drain continues after a refusal and ends after several different letters in a row. An
 * unreachable target then gets a few calls per drain. The next drain tries the refused letters last, and the one that was
 * refused longest ago first. So every letter has its turn, however many are refused for good.
 */
export class RefusedLetters {
  /** The ids, the longest refused first. */
  readonly #ids = new Set<string>()
  #inARow = 0

  /** Begins a drain of the letters with these ids, which are in the order of arrival. */
  inDrainOrder(ids: readonly string[]): readonly string[] {
    this.#inARow = 0
    if (this.#ids.size === 0) return ids
    const held = new Set(ids)
    for (const id of this.#ids) if (!held.has(id)) this.#ids.delete(id)
    return [...ids.filter(id => !this.#ids.has(id)), ...this.#ids]
  }

  taken(id: string): void {
    this.#inARow = 0
    this.#ids.delete(id)
  }

  /** Returns true if the drain must end. */
  refused(id: string): boolean {
    this.#ids.delete(id)
    this.#ids.add(id)
    return ++this.#inARow >= MAX_REFUSALS
  }
}
