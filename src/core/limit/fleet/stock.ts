/** Turns of one grant that are not used yet. */
interface TurnBlock {
  nextAt: number
  left: number
  readonly intervalMs: number
}

/**
 * Turns that a member holds, in the order they come up. One that came up and was not used is kept for a while, because
 * events do not arrive evenly; then it lapses, because many kept turns would be a storm when they are used at last.
 */
export class TurnStock {
  readonly #keepMs: number
  #lots: TurnBlock[] = []

  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  get size(): number {
    let size = 0
    for (const lot of this.#lots) size += lot.left
    return size
  }

  /** When the first turn comes up, or came up. */
  get firstAt(): number | undefined {
    return this.#lots[0]?.nextAt
  }

  get lastAt(): number | undefined {
    const lot = this.#lots.at(-1)
    return lot && lot.nextAt + (lot.left - 1) * lot.intervalMs
  }

  /** `count` turns, one each `intervalMs` from `firstAt` on; those of a time before `now` are there at once. */
  add(firstAt: number, count: number, intervalMs: number, now: number): void {
    const saved = Math.min(count, Math.max(0, Math.ceil((now - firstAt) / intervalMs)))
    if (saved > 0) this.#lots.push({ nextAt: now, left: saved, intervalMs: 0 })
    if (count > saved)
      this.#lots.push({ nextAt: firstAt + saved * intervalMs, left: count - saved, intervalMs })
  }

  /** Takes the first turn, whether it has come up or not. */
  take(): number | undefined {
    const lot = this.#lots[0]
    if (lot === undefined) return undefined
    const at = lot.nextAt
    lot.nextAt += lot.intervalMs
    if (--lot.left === 0) this.#lots.shift()
    return at
  }

  /** Lets lapse what came up too long ago. */
  lapse(now: number): void {
    for (let first = this.firstAt; first !== undefined && first < now - this.#keepMs; first = this.firstAt)
      this.take()
  }

  /** The clock was set: what has not come up yet moves with it. */
  move(ms: number): void {
    for (const lot of this.#lots) lot.nextAt += ms
  }
}
