import type { Cancel } from '../../../ports/clock.ts'
import type { Item } from '../lane/item.ts'

/** Items that wait to hear from a limit that is shared. */
export class Hearing {
  readonly #cancels = new Map<Item, Cancel>()

  get size(): number {
    return this.#cancels.size
  }

  /** What is returned takes the item out again; false when it is not here any more, and the answer comes too late. */
  add(item: Item, cancel: Cancel): () => boolean {
    this.#cancels.set(item, cancel)
    return () => this.#cancels.get(item) === cancel && this.#cancels.delete(item)
  }

  /** Takes everything out; nobody wants to hear any more. */
  drain(): Item[] {
    const items = [...this.#cancels.keys()]
    for (const cancel of this.#cancels.values()) cancel()
    this.#cancels.clear()
    return items
  }
}
