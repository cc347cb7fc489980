interface Tally {
  /** `put` lines it has, whether they still count or not. */
  lines: number
  liveLines: number
  liveBytes: number
}

/** How much of each segment still counts. */
export class LiveLines {
  readonly #tallies = new Map<number, Tally>()

  /** A line was come upon, and counts. */
  add(segment: number, length: number): void {
    const tally = this.#of(segment)
    tally.lines++
    tally.liveLines++
    tally.liveBytes += length + 1
  }

  /** It counts no more. */
  remove(segment: number, length: number): void {
    const tally = this.#of(segment)
    tally.liveLines--
    tally.liveBytes -= length + 1
  }

  /** The segment was rewritten, with so many lines. */
  cleaned(segment: number, lines: number): void {
    this.#of(segment).lines = lines
  }

  bytes(segment: number): number {
    return this.#of(segment).liveBytes
  }

  hasDead(segment: number): boolean {
    const { lines, liveLines } = this.#of(segment)
    return lines > liveLines
  }

  #of(segment: number): Tally {
    let tally = this.#tallies.get(segment)
    if (tally === undefined) {
      tally = { lines: 0, liveLines: 0, liveBytes: 0 }
      this.#tallies.set(segment, tally)
    }
    return tally
  }
}
