import type { Item } from '../lane/item.ts'
import type { BufferPolicy } from '../lane/lane-options.ts'

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
    const index = this.#flushes.findIndex(flush => flush.generation === item.generation)
    const flush = this.#flushes[index]!
    if (--flush.left > 0) return
    this.#flushes.splice(index, 1)
    flush.done()
  }

  /** Resolves when everything that is in now is out; what enters later does not keep it waiting. */
  async flush(): Promise<void> {
    if (this.#current > 0) {
      const { promise, resolve: done } = Promise.withResolvers<void>()
      this.#flushes.push({ generation: this.#generation++, left: this.#current, promise, done })
      this.#current = 0
    }
    await Promise.all(this.#flushes.map(({ promise }) => promise))
  }
}
