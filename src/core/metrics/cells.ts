import type { HistogramSample } from './family.ts'

/** One number that is counted up, or set. */
export class NumberCell {
  value = 0
}

/** How many values there were up to each bound, and their sum. */
export class HistogramCell {
  readonly #bounds: readonly number[]
  /** One more than there are bounds: the last counts what is above all of them. Not cumulative, so that one is counted up. */
  readonly #counts: Float64Array
  #sum = 0

  /** Rising bounds, without infinity. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  add(value: number): void {
    const bounds = this.#bounds
    let index = 0
    while (index < bounds.length && value > bounds[index]!) index++
    this.#counts[index]!++
    this.#sum += value
  }

  read(): Omit<HistogramSample, 'labels'> {
    let count = 0
    const buckets = Array.from(this.#counts, (own, index) => {
      count += own
      return { le: this.#bounds[index] ?? Number.POSITIVE_INFINITY, count }
    })
    return { buckets, sum: this.#sum, count }
  }
}
