import type { Item } from '../lane/item.ts'
import type { Flight } from '../write/write.ts'
import type { Aftermath } from './write-failure.ts'

/** A retry that waits for the end of the write that timed out. */
interface HeldItem {
  readonly item: Item
  /** When its backoff is over. */
  readonly at: number
}

/**
 * The retries of writes that run on after their timeout. An event must not be on two writes at once, so its retry waits for the
 * end of the first, at most `lateMs`; the lane goes on with other events meanwhile. What a late write has taken is delivered.
 */
export class HeldRetries {
  readonly #aftermath: Aftermath
  readonly #backOff: (item: Item, at: number) => void
  readonly #held = new Map<Flight, HeldItem[]>()
  /** Collects what a flight that is being settled wants to retry. */
  #collecting: HeldItem[] | undefined

  constructor(aftermath: Aftermath, backOff: (item: Item, at: number) => void) {
    this.#aftermath = aftermath
    this.#backOff = backOff
  }

  get size(): number {
    let items = 0
    for (const held of this.#held.values()) items += held.length
    return items
  }

  /** Whether the retry has to wait for the write that is being settled. */
  takes(item: Item, at: number): boolean {
    this.#collecting?.push({ item, at })
    return this.#collecting !== undefined
  }

  /** Settles a write that runs on. Calls back when its retries may go on, or are delivered. */
  settle(flight: Flight, settle: () => void, now: () => number, over: () => void): void {
    const held: HeldItem[] = []
    this.#collecting = held
    try {
      settle()
    } finally {
      this.#collecting = undefined
    }
    if (held.length === 0) return
    this.#held.set(flight, held)
    void this.#wait(flight, held, now).then(over)
  }

  /** Hands over everything, and waits for nothing any more. */
  drain(reason: unknown): Item[] {
    const items: Item[] = []
    for (const [flight, held] of this.#held) {
      items.push(...held.map(({ item }) => item))
      flight.abort(reason)
    }
    this.#held.clear()
    return items
  }

  async #wait(flight: Flight, held: readonly HeldItem[], now: () => number): Promise<void> {
    const end = await flight.lateEnd()
    // Not there any more: the lane has stopped and given up on its items.
    if (!this.#held.delete(flight)) return
    const refused = new Set(end?.ok ? end.rejected.map(({ index }) => flight.items[index]) : flight.items)
    for (const { item, at } of held)
      if (refused.has(item)) this.#backOff(item, at)
      else this.#aftermath.deliveredLate(item, now())
  }
}
