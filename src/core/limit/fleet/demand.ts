import { SLICE_MS } from './policy.ts'

/** How many turns are used in a slice, by what was used lately. */
export class Demand {
  readonly #most: number
  #since = 0
  #used = 0
  #perSlice = 0

  constructor(perSecond: number) {
    this.#most = Math.ceil((perSecond * SLICE_MS) / 1_000)
  }

  use(now: number): void {
    this.#look(now)
    this.#used++
  }

  expected(now: number): number {
    this.#look(now)
    return Math.min(this.#most, Math.round(Math.max(this.#perSlice, this.#used)))
  }

  #look(now: number): void {
    const passedMs = now - this.#since
    if (passedMs >= 0 && passedMs < SLICE_MS) return
    this.#perSlice = passedMs > 0 ? (this.#used * SLICE_MS) / passedMs : 0
    this.#used = 0
    this.#since = now
  }
}
