/** Looks in a row at which nothing moved before a queue counts as stalled, at first and at most. */
const FIRST_LOOKS = 3
const MOST_LOOKS = 60

/** What one look at a queue and its consumer shows. */
interface Look {
  /** Deliveries so far. */
  arrived(): number
  /** The server may hand over more. */
  readonly hasRoom: boolean
  /** Messages that wait in the queue for a consumer. */
  ready(): Promise<number>
}

/**
 * - `moving`: something has arrived since the last look.
 * - `full`: the server may not hand over more before something is settled.
 * - `empty`: nothing waits in the queue.
 * - `waiting`: messages wait and none arrives, which may be chance.
 * - `stalled`: it is not chance any more; the channel should be opened anew.
 */
type Finding = 'moving' | 'full' | 'empty' | 'waiting' | 'stalled'

/**
 * Finds out that a server hands nothing over although it could. A queue that was deleted and declared again may lose its consumers
 * without a word to them. The queue is asked only while nothing arrives. Each time that reopening did not help, the next
 * one is waited for longer: another consumer may be the one that the server prefers.
 */
export class Progress {
  #arrived = -1
  #idleLooks = 0
  #looksNeeded = FIRST_LOOKS

  async look({ arrived, hasRoom, ready }: Look): Promise<Finding> {
    if (this.#hasMoved(arrived())) return 'moving'
    const isEmpty = hasRoom && (await ready()) === 0
    // The answer comes behind what was on its way, such as a large message.
    if (this.#hasMoved(arrived())) return 'moving'
    if (!hasRoom || isEmpty) {
      this.#idleLooks = 0
      return isEmpty ? 'empty' : 'full'
    }
    if (++this.#idleLooks < this.#looksNeeded) return 'waiting'
    this.#idleLooks = 0
    this.#looksNeeded = Math.min(MOST_LOOKS, this.#looksNeeded * 2)
    return 'stalled'
  }

  #hasMoved(arrived: number): boolean {
    if (arrived === this.#arrived) return false
    this.#arrived = arrived
    this.#idleLooks = 0
    this.#looksNeeded = FIRST_LOOKS
    return true
  }
}
