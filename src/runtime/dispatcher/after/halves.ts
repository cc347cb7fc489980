import type { Failure } from '../../../core/failure/failure.ts'
import type { Item } from '../lane/item.ts'

/**
 * Whether some events of a batch can be to blame for the failure of the whole write. A retryable failure, wrong credentials
 * or a wrong address (`integration`) would fail every half too.
 */
export function mayBlameSome({ retryable, category }: Failure): boolean {
  return !retryable && category !== 'integration' && category !== 'transient'
}

/**
 * The halves of batches that a sink refused for good as a whole. Each half is a write of its own, so that a bad event does not
 * take its neighbours with it:
 *
 *   [a b c d] refused ─▶ [a b] written, [c d] refused ─▶ [c] written, [d] refused: d is given up on
 *
 * Only the write of an event alone is an attempt of that event. A batch of n events takes at most 2n − 1 writes; one bad
 * event among them takes 1 + 2 · log2 n. Earlier events come first, so the order of tracking stays.
 */
export class Halves {
  /** The next half is the last one. */
  readonly #waiting: (readonly Item[])[] = []

  get size(): number {
    return this.#waiting.length
  }

  split(items: readonly Item[]): void {
    const middle = Math.ceil(items.length / 2)
    this.#waiting.push(items.slice(middle), items.slice(0, middle))
  }

  take(): readonly Item[] | undefined {
    return this.#waiting.pop()
  }

  /** The item is written alone, before all others. */
  putBack(item: Item): void {
    this.#waiting.push([item])
  }

  drain(): Item[] {
    return this.#waiting.splice(0).reverse().flat()
  }
}
