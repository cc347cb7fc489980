import type { Counts } from './plan.ts'

type Counter = Exclude<keyof Counts, 'open'>

/**
 * Which events have no end yet, and how many had which. It holds an event only while it is open, so its own size is flat
 * when the load is.
 */
export class Tally {
  readonly #open = new Set<string>()
  readonly #counts: Record<Counter, number> = {
    published: 0,
    handled: 0,
    dead: 0,
    lost: 0,
    replayed: 0,
    discarded: 0,
    expired: 0,
    again: 0,
    troubled: 0,
  }

  /** Before it is published, because a handler may be faster than the answer. */
  begin(id: string): void {
    this.#open.add(id)
  }

  handled(id: string): void {
    this.add(this.#open.delete(id) ? 'handled' : 'again')
  }

  /** An event that a person decided about. */
  discarded(id: string): void {
    this.#open.delete(id)
    this.add('discarded')
  }

  add(counter: Counter, count = 1): void {
    this.#counts[counter] += count
  }

  get open(): number {
    return this.#open.size
  }

  get counts(): Counts {
    return { ...this.#counts, open: this.open }
  }

  /** The open events without a letter. */
  without(letters: ReadonlySet<string>): string[] {
    return [...this.#open].filter(id => !letters.has(id))
  }
}
