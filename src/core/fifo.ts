/** Entries before the head are cut off when there are so many and they are more than half. */
const CUT_AT = 1_024

/** First in, first out. Taking from the head moves an index, where an array would move all its entries. */
export class Fifo<T> {
  #entries: (T | undefined)[] = []
  #head = 0

  get size(): number {
    return this.#entries.length - this.#head
  }

  get first(): T | undefined {
    return this.#entries[this.#head]
  }

  push(entry: T): void {
    this.#entries.push(entry)
  }

  shift(): T | undefined {
    const entry = this.#entries[this.#head]
    if (entry === undefined) return undefined
    this.#entries[this.#head++] = undefined
    if (this.#head === this.#entries.length) {
      this.#entries = []
      this.#head = 0
    } else if (this.#head >= CUT_AT && this.#head * 2 >= this.#entries.length) {
      this.#entries.splice(0, this.#head)
      this.#head = 0
    }
    return entry
  }

  /** Puts entries before all others, in the order given. */
  putBack(entries: readonly T[]): void {
    this.#entries = [...entries, ...this.#entries.slice(this.#head)]
    this.#head = 0
  }

  /** Takes everything out. */
  drain(): T[] {
    const entries = this.#entries.slice(this.#head) as T[]
    this.#entries = []
    this.#head = 0
    return entries
  }
}
