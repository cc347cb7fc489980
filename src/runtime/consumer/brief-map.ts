interface Entry<V> {
  readonly id: string
  value: V
  next: Entry<V> | undefined
}

const BUCKETS = 256

/**
 * Values by id, for ids that stay only briefly. A Map hashes every new text as a whole and copies itself after each few
 * additions and removals, which took a fifth of the time of a consumed event. Here the last three characters choose a short
 * list, because they differ most between ids.
 */
export class BriefMap<V extends object> {
  readonly #buckets = new Array<Entry<V> | undefined>(BUCKETS).fill(undefined)

  get(id: string): V | undefined {
    let entry = this.#buckets[bucketOf(id)]
    while (entry !== undefined && entry.id !== id) entry = entry.next
    return entry?.value
  }

  set(id: string, value: V): void {
    const bucket = bucketOf(id)
    const first = this.#buckets[bucket]
    for (let entry = first; entry !== undefined; entry = entry.next)
      if (entry.id === id) {
        entry.value = value
        return
      }
    this.#buckets[bucket] = { id, value, next: first }
  }

  delete(id: string): void {
    const bucket = bucketOf(id)
    let before: Entry<V> | undefined
    for (let entry = this.#buckets[bucket]; entry !== undefined; entry = entry.next) {
      if (entry.id === id) {
        if (before === undefined) this.#buckets[bucket] = entry.next
        else before.next = entry.next
        return
      }
      before = entry
    }
  }

  /** In no order. */
  *values(): Iterable<V> {
    for (const first of this.#buckets)
      for (let entry = first; entry !== undefined; entry = entry.next) yield entry.value
  }
}

/** The characters of a short id that are not there count as 0. */
function bucketOf(id: string): number {
  const end = id.length
  return (
    (id.charCodeAt(end - 1) ^ (id.charCodeAt(end - 2) << 3) ^ (id.charCodeAt(end - 3) << 5)) & (BUCKETS - 1)
  )
}
