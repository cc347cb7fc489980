const MIN_SIZE = 16

/** A double-ended queue in a ring buffer. Every operation is O(1) at any length. `undefined` is not a valid item. */
export class Deque<T> {
  #ring: (T | undefined)[] = new Array(MIN_SIZE).fill(undefined)
  #first = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  push(item: T): void {
    if (this.#size === this.#ring.length) this.#grow()
    this.#ring[(this.#first + this.#size++) & (this.#ring.length - 1)] = item
  }

  unshift(item: T): void {
    if (this.#size === this.#ring.length) this.#grow()
    this.#first = (this.#first - 1) & (this.#ring.length - 1)
    this.#ring[this.#first] = item
    this.#size++
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined
    const item = this.#ring[this.#first]
    this.#ring[this.#first] = undefined
    this.#first = (this.#first + 1) & (this.#ring.length - 1)
    // An empty queue releases the memory of a peak.
    if (--this.#size === 0 && this.#ring.length > MIN_SIZE) this.#ring = new Array(MIN_SIZE).fill(undefined)
    if (this.#size === 0) this.#first = 0
    return item
  }

  /** The length stays a power of two, so that a bit mask replaces the modulo. */
  #grow(): void {
    const inOrder = [...this.#ring.slice(this.#first), ...this.#ring.slice(0, this.#first)]
    this.#ring = inOrder.concat(new Array(inOrder.length).fill(undefined))
    this.#first = 0
  }
}
