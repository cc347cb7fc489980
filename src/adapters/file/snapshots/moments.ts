import type { Place } from '../journal/segment-set.ts'

/** at, segment, offset, length: numbers side by side, because a day of a channel has 1 440 moments. */
const STRIDE = 4
const FIRST_ROWS = 16

/** When a channel's snapshots were taken, oldest first, and where each of them lies. */
export class Moments {
  #rows = new Float64Array(FIRST_ROWS * STRIDE)
  #count = 0

  get count(): number {
    return this.#count
  }

  atOf(row: number): number {
    return this.#rows[row * STRIDE]!
  }

  segmentOf(row: number): number {
    return this.#rows[row * STRIDE + 1]!
  }

  placeOf(row: number): Place {
    const start = row * STRIDE
    return {
      segment: this.segmentOf(row),
      offset: this.#rows[start + 2]!,
      length: this.#rows[start + 3]!,
    }
  }

  /** The first row at or after that time. */
  find(at: number): number {
    let [from, to] = [0, this.#count]
    // Nearly always the newest is asked for.
    if (to > 0 && this.atOf(to - 1) < at) return to
    while (from < to) {
      const middle = (from + to) >>> 1
      if (this.atOf(middle) < at) from = middle + 1
      else to = middle
    }
    return from
  }

  has(row: number, at: number): boolean {
    return row < this.#count && this.atOf(row) === at
  }

  insert(row: number, at: number, place: Place): void {
    if ((this.#count + 1) * STRIDE > this.#rows.length) this.#grow()
    this.#rows.copyWithin((row + 1) * STRIDE, row * STRIDE, this.#count * STRIDE)
    this.#count++
    this.set(row, at, place)
  }

  set(row: number, at: number, { segment, offset, length }: Place): void {
    this.#rows.set([at, segment, offset, length], row * STRIDE)
  }

  /** Forgets so many of the oldest. */
  drop(count: number): void {
    this.#count -= count
    // Half as much again is room enough, so that a purge gives memory back too.
    const rows = Math.max(FIRST_ROWS, Math.ceil(this.#count * 1.5))
    const kept = this.#rows.subarray(count * STRIDE, (count + this.#count) * STRIDE)
    const next = rows * STRIDE < this.#rows.length / 2 ? new Float64Array(rows * STRIDE) : this.#rows
    next.set(kept)
    this.#rows = next
  }

  #grow(): void {
    const larger = new Float64Array(this.#rows.length * 2)
    larger.set(this.#rows)
    this.#rows = larger
  }
}
