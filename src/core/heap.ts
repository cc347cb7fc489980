/** A binary heap: the first of its items by `isBefore` is at hand, putting and taking cost log n. */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #isBefore: (a: T, b: T) => boolean

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  get size(): number {
    return this.#items.length
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  /** All items, in no order. */
  [Symbol.iterator](): Iterator<T> {
    return this.#items.values()
  }

  push(item: T): void {
    const items = this.#items
    let index = items.length
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#isBefore(item, items[parent]!)) break
      items[index] = items[parent]!
      index = parent
    }
    items[index] = item
  }

  shift(): T | undefined {
    const [first] = this.#items
    const last = this.#items.pop()
    if (last !== undefined && this.#items.length > 0) this.#sink(last)
    return first
  }

  #sink(item: T): void {
    const items = this.#items
    let index = 0
    for (let child = 1; child < items.length; child = 2 * index + 1) {
      if (child + 1 < items.length && this.#isBefore(items[child + 1]!, items[child]!)) child++
      if (!this.#isBefore(items[child]!, item)) break
      items[index] = items[child]!
      index = child
    }
    items[index] = item
  }
}
