import type { Item } from '../lane/item.ts'
import type { BatchPolicy } from '../lane/lane-options.ts'
import { Fifo } from './fifo.ts'

/** Events that wait for their first attempt, and when there are enough of them for a batch. */
export class Fresh {
  readonly #policy: BatchPolicy
  readonly #items = new Fifo<Item>()
  #bytes = 0

  constructor(policy: BatchPolicy) {
    this.#policy = policy
  }

  get size(): number {
    return this.#items.size
  }

  get first(): Item | undefined {
    return this.#items.first
  }

  push(item: Item): void {
    this.#items.push(item)
    this.#bytes += item.tracked.bytes
  }

  take(): Item {
    const item = this.#items.shift()!
    this.#bytes -= item.tracked.bytes
    return item
  }

  drain(): Item[] {
    this.#bytes = 0
    return this.#items.drain()
  }

  /** When its first event has waited long enough for company; undefined when there is none. */
  dueAt(now: number): number | undefined {
    const { first } = this.#items
    if (first === undefined) return undefined
    const { maxWaitMs, maxCount, maxBytes } = this.#policy
    // A clock that was set back makes an event look as if it had yet to come.
    const isFull = this.#items.size >= maxCount || this.#bytes >= maxBytes || first.acceptedAt > now
    return isFull ? now : first.acceptedAt + maxWaitMs
  }
}

/** A batch that is being put together. The first event always fits, however large it is. */
export class Batch {
  readonly items: Item[] = []
  readonly #maxCount: number
  readonly #maxBytes: number
  #bytes = 0

  constructor({ maxCount, maxBytes }: BatchPolicy) {
    this.#maxCount = maxCount
    this.#maxBytes = maxBytes
  }

  fits(item: Item): boolean {
    const count = this.items.length
    return count === 0 || (count < this.#maxCount && this.#bytes + item.tracked.bytes <= this.#maxBytes)
  }

  add(item: Item): void {
    this.items.push(item)
    this.#bytes += item.tracked.bytes
  }
}
