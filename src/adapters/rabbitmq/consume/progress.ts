/** Looks in a row at which nothing moved before a queue counts as stalled, at first and at most. */
const FIRST_LOOKS = 3
const MOST_LOOKS = 60

/** What one look at a queue and its consumer shows. */
export interface Look {
  /** Deliveries so far. */
  readonly arrived: number
  /** The server may hand over more. */
  readonly hasFreePlaces: boolean
  /** Messages that wait in the queue for a consumer. */
  ready(): Promise<number>
}

/**
 * Finds out that a server hands nothing over although it could. A queue that was deleted and declared again may lose its consumers
 * without a word to them. The queue is asked only while nothing arrives. Each time that reopening did not help, the next
 * one is waited for longer: another consumer may be the one that the server prefers.
 */
export class Progress {
  #arrived = -1
  #idleLooks = 0
  #looksNeeded = FIRST_LOOKS

  /** True when the channel should be opened anew. */
  async isStalled(look: Look): Promise<boolean> {
    const { arrived, hasFreePlaces } = look
    if (arrived !== this.#arrived) {
      this.#arrived = arrived
      this.moved()
      return false
    }
    if (!hasFreePlaces || (await look.ready()) === 0) {
      this.#idleLooks = 0
      return false
    }
    if (++this.#idleLooks < this.#looksNeeded) return false
    this.#idleLooks = 0
    this.#looksNeeded = Math.min(MOST_LOOKS, this.#looksNeeded * 2)
    return true
  }

  moved(): void {
    this.#idleLooks = 0
    this.#looksNeeded = FIRST_LOOKS
  }
}
