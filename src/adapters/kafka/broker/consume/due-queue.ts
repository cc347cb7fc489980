/** Things that wait, the one that is due first at the front. */
export class DueQueue<T extends { readonly dueAt: number }> {
  #heap: T[] = []

  get size(): number {
    return this.#heap.length
  }

  get first(): T | undefined {
    return this.#heap[0]
  }

  push(item: T): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent]!.dueAt <= item.dueAt) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = item
  }

  shift(): T | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1]!.dueAt < heap[child]!.dueAt) child++
      if (heap[child]!.dueAt >= last.dueAt) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }

  /** Everything that waits, in no order. */
  all(): readonly T[] {
    return this.#heap
  }

  clear(): void {
    this.#heap = []
  }
}
