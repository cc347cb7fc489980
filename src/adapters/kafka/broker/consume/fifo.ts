const COMPACT_AT = 1_024

/** A queue whose ends are both cheap: an array moves all its items when the first one leaves. */
export class Fifo<T> {
  #items: T[] = []
  #head = 0

  get size(): number {
    return this.#items.length - this.#head
  }

  get first(): T | undefined {
    return this.#items[this.#head]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head++]
    if (this.#head === this.#items.length) this.clear()
    else if (this.#head >= COMPACT_AT) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  all(): readonly T[] {
    return this.#items.slice(this.#head)
  }

  clear(): void {
    this.#items = []
    this.#head = 0
  }
}
