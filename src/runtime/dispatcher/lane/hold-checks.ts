import { Fifo } from '../../../core/fifo.ts'
import { type Cancel, type Clock, settlesWithin } from '../../../ports/clock.ts'
import type { LetterHold } from '../letter-hold.ts'
import type { Item } from './item.ts'

/** Items that are checked together. Checks far ahead of the writes would be too old then. */
const AT_ONCE = 10
const ANSWER_MS = 5_000
const RETRY_MS = 500

interface UnsureItem {
  readonly item: Item
  readonly hold: LetterHold
  readonly queue: ItemQueue
}

/** The queue that an item came from. */
export interface ItemQueue {
  /** Puts an item before all others. */
  putBack(item: Item): void
}

/**
 * The items of a lane whose letters another process may have by now. Each is here until the store has answered. Other items
 * do not wait for that, also if the store is unreachable.
 */
export class HoldChecks {
  readonly #clock: Clock
  readonly #handOver: (item: Item) => void
  readonly #changed: () => void
  readonly #waiting = new Fifo<UnsureItem>()
  #asking: readonly UnsureItem[] = []
  /** Put back, and not written yet. */
  readonly #confirmed = new Map<Item, LetterHold>()
  #isAskPlanned = false
  #cancelRetry: Cancel | undefined

  /** `handOver` ends an item that another process has; `changed`: an item was put back. */
  constructor(clock: Clock, handOver: (item: Item) => void, changed: () => void) {
    this.#clock = clock
    this.#handOver = handOver
    this.#changed = changed
  }

  /** Whether the item may be written now. An item that may not is here from now on. */
  admits(item: Item, queue: ItemQueue): boolean {
    const { hold } = item.tracked
    if (hold === undefined) return true
    const isSure = hold.isSure
    this.#confirmed.delete(item)
    if (!isSure) this.#waiting.push({ item, hold, queue })
    if (this.#waiting.size > 0) this.#askSoon()
    return isSure
  }

  /** Takes everything out. Answers that come later change nothing. */
  drain(): Item[] {
    this.#cancelRetry?.()
    const items = [...this.#asking, ...this.#waiting.drain()].map(({ item }) => item)
    this.#asking = []
    return items
  }

  /** Asks once the lane has looked at all its items. */
  #askSoon(): void {
    if (this.#isAskPlanned) return
    this.#isAskPlanned = true
    queueMicrotask(() => {
      this.#isAskPlanned = false
      this.#askNext()
    })
  }

  /** Asks for a few items together, when those before them are written. So the order of the items stays. */
  #askNext(): void {
    // An item may also leave its queue without a write.
    for (const [item, hold] of this.#confirmed) if (!hold.isSure) this.#confirmed.delete(item)
    if (this.#waiting.size === 0) return
    if (this.#asking.length > 0 || this.#confirmed.size > 0) {
      this.#askLater()
      return
    }
    const next: UnsureItem[] = []
    while (this.#waiting.size > 0 && next.length < AT_ONCE) next.push(this.#waiting.shift()!)
    this.#asking = next
    void this.#ask(next)
  }

  #askLater(): void {
    this.#cancelRetry?.()
    this.#cancelRetry = this.#clock.schedule(RETRY_MS, () => this.#askNext())
  }

  async #ask(unsure: readonly UnsureItem[]): Promise<void> {
    const answers = await Promise.all(unsure.map(({ hold }) => this.#answer(hold)))
    if (this.#asking !== unsure) return
    this.#asking = []
    const unanswered: UnsureItem[] = []
    // The last one first, because each is put before all others.
    for (const [index, each] of [...unsure.entries()].reverse()) {
      const isHeld = answers[index]
      if (isHeld === undefined) unanswered.unshift(each)
      else if (isHeld) {
        this.#confirmed.set(each.item, each.hold)
        each.queue.putBack(each.item)
      } else this.#handOver(each.item)
    }
    this.#changed()
    if (unanswered.length === 0) this.#askNext()
    else {
      this.#waiting.putBack(unanswered)
      this.#askLater()
    }
  }

  async #answer(hold: LetterHold): Promise<boolean | undefined> {
    const asked = hold.confirm().catch(() => undefined)
    return (await settlesWithin(this.#clock, ANSWER_MS, asked)) ? asked : undefined
  }
}
