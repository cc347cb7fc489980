import { Fifo } from '../../../core/fifo.ts'
import type { Item } from '../lane/item.ts'
import type { BatchPolicy, BufferPolicy } from '../lane/lane-options.ts'

/** A wait until everything that was in the lane at some moment is out of it. */
interface Flush {
  readonly generation: number
  left: number
  readonly promise: Promise<void>
  readonly done: () => void
}

/**
 * Counts what is in a lane, from being accepted until its outcome is durable: waiting, in flight, between retries and
 * on its way to becoming a letter alike. All of it takes memory, so all of it is bounded.
 */
export class LaneBuffer {
  readonly #policy: BufferPolicy
  #events = 0
  #bytes = 0
  #generation = 0
  /** Of the current generation. */
  #current = 0
  readonly #flushes: Flush[] = []

  constructor(policy: BufferPolicy) {
    this.#policy = policy
  }

  get events(): number {
    return this.#events
  }

  get bytes(): number {
    return this.#bytes
  }

  get isFlushing(): boolean {
    return this.#flushes.length > 0
  }

  /** An event that is larger than the whole buffer finds room in an empty one, or it would find none ever. */
  hasRoom(bytes: number): boolean {
    if (this.#events === 0) return true
    return this.#events < this.#policy.maxEvents && this.#bytes + bytes <= this.#policy.maxBytes
  }

  enter(item: Item): void {
    item.generation = this.#generation
    this.#events++
    this.#current++
    this.#bytes += item.tracked.bytes
  }

  leave(item: Item): void {
    this.#events--
    this.#bytes -= item.tracked.bytes
    if (item.generation === this.#generation) {
      this.#current--
      return
    }
    let index = 0
    while (this.#flushes[index]!.generation !== item.generation) index++
    const flush = this.#flushes[index]!
    if (--flush.left > 0) return
    this.#flushes.splice(index, 1)
    flush.done()
  }

  /** Resolves when all items that are in the buffer now have left it. Later items do not delay it. */
  async flush(): Promise<void> {
    if (this.#current > 0) {
      const { promise, resolve: done } = Promise.withResolvers<void>()
      this.#flushes.push({ generation: this.#generation++, left: this.#current, promise, done })
      this.#current = 0
    }
    await Promise.all(this.#flushes.map(({ promise }) => promise))
  }
}

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

  /** Puts an item before all others. */
  putBack(item: Item): void {
    this.#items.putBack([item])
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

  /** Whether there is a batch. Someone who flushes waits for what is here, so nothing waits for company then. */
  isDue(now: number, isFlushing: boolean): boolean {
    const dueAt = this.dueAt(now)
    return dueAt !== undefined && (dueAt <= now || isFlushing)
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
