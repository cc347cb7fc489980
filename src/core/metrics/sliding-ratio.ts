/** Slices of the window: the oldest falls out as a whole. */
const SLICES = 30

/**
 * The share of successes within a recent window of time. The window is a ring of time slices that are overwritten in turn, so
 * that recording a result costs only two additions.
 */
export class SlidingRatio {
  readonly #sliceMs: number
  readonly #good = new Float64Array(SLICES)
  readonly #bad = new Float64Array(SLICES)
  #newest = 0
  /** How many slices the clock was set back in all: the ring goes on, whatever the clock shows. */
  #setBack = 0

  constructor(windowMs: number) {
    this.#sliceMs = windowMs / SLICES
  }

  add(now: number, good: number, bad: number): void {
    this.#moveTo(now)
    const slot = this.#newest % SLICES
    this.#good[slot]! += good
    this.#bad[slot]! += bad
  }

  /** Undefined when nothing ended. */
  read(now: number): number | undefined {
    this.#moveTo(now)
    const good = sum(this.#good)
    const all = good + sum(this.#bad)
    return all === 0 ? undefined : good / all
  }

  /** A clock that was set back by less than a slice counts into the newest slice. */
  #moveTo(now: number): void {
    const shown = Math.floor(now / this.#sliceMs) + this.#setBack
    if (shown < this.#newest - 1) this.#setBack += this.#newest - shown
    const slice = Math.max(this.#newest, shown)
    for (let passed = Math.max(this.#newest + 1, slice - SLICES + 1); passed <= slice; passed++) {
      this.#good[passed % SLICES] = 0
      this.#bad[passed % SLICES] = 0
    }
    this.#newest = slice
  }
}

function sum(counts: Float64Array): number {
  return counts.reduce((total, count) => total + count, 0)
}
