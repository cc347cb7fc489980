/** Below zero when `a` comes before `b`. Rows are never equal. */
export type CompareRows = (a: number, b: number) => number

const FIRST_CAPACITY = 1_024

/**
 * Row numbers in order, the last of which are put in order only when someone asks: letters mostly arrive in the order
 * of their time, so that is little work, and none at all for whoever only sends.
 */
export class Order {
  readonly #compare: CompareRows
  #rows = new Uint32Array(FIRST_CAPACITY)
  #length = 0
  #sorted = 0

  constructor(compare: CompareRows) {
    this.#compare = compare
  }

  get length(): number {
    return this.#length
  }

  /** Good until the next change. */
  get sorted(): Uint32Array {
    this.sort()
    return this.#rows.subarray(0, this.#length)
  }

  add(row: number): void {
    if (this.#length === this.#rows.length) {
      const larger = new Uint32Array(this.#length * 2)
      larger.set(this.#rows)
      this.#rows = larger
    }
    this.#rows[this.#length++] = row
  }

  /** Takes out the rows that are not to be kept, and answers with them. */
  purge(isKept: (row: number) => boolean): number[] {
    this.sort()
    const removed: number[] = []
    let kept = 0
    for (let at = 0; at < this.#length; at++) {
      const row = this.#rows[at]!
      if (isKept(row)) this.#rows[kept++] = row
      else removed.push(row)
    }
    this.#length = kept
    this.#sorted = kept
    return removed
  }

  /** How many rows come before the one sought; `isBefore` is true for those and for no other. */
  countBefore(isBefore: (row: number) => boolean): number {
    this.sort()
    let low = 0
    let high = this.#length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(this.#rows[middle]!)) low = middle + 1
      else high = middle
    }
    return low
  }

  sort(): void {
    if (this.#sorted === this.#length) return
    // A plain array, because its sort is fast on what is almost in order, and that of a typed array is not.
    const added = Array.from(this.#rows.subarray(this.#sorted, this.#length)).sort(this.#compare)
    this.#merge(added)
    this.#sorted = this.#length
  }

  /** From the end, so that it stops where all that is left is in order already. */
  #merge(added: readonly number[]): void {
    let from = this.#sorted - 1
    let next = added.length - 1
    for (let at = this.#length - 1; next >= 0; at--) {
      const row = added[next]!
      if (from >= 0 && this.#compare(this.#rows[from]!, row) > 0) this.#rows[at] = this.#rows[from--]!
      else {
        this.#rows[at] = row
        next--
      }
    }
  }
}
