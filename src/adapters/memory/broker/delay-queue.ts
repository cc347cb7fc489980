import { Heap } from '../../../core/heap.ts'
import { type Cancel, type Clock, monotonicNow } from '../../../ports/clock.ts'
import type { MemoryDelivery } from './delivery.ts'

/** The longest sleep. Timers have an upper limit. */
const MAX_SLEEP_MS = 3_600_000

interface Waiting {
  readonly delivery: MemoryDelivery
  /** By the clock that never steps. */
  readonly dueAt: number
  /** The order of arrival, which decides between deliveries with the same time. */
  readonly order: number
}

/**
 * Holds deliveries until they are due. One timer serves all of them, for the earliest one. A wait does not change when the wall
 * clock is set.
 */
export class DelayQueue {
  readonly #clock: Clock
  readonly #onDue: (delivery: MemoryDelivery) => void
  readonly #waiting = new Heap<Waiting>(isBefore)
  #order = 0
  #cancel: Cancel | undefined
  #wakesAt = Number.POSITIVE_INFINITY

  constructor(clock: Clock, onDue: (delivery: MemoryDelivery) => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  add(delivery: MemoryDelivery, notBefore: number): void {
    const dueAt = monotonicNow(this.#clock) + Math.max(0, notBefore - this.#clock.now())
    this.#waiting.push({ delivery, dueAt, order: this.#order++ })
    if (dueAt < this.#wakesAt) this.#sleep()
  }

  close(): void {
    this.#cancel?.()
  }

  #sleep(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#wakesAt = Number.POSITIVE_INFINITY
    const { first } = this.#waiting
    if (first === undefined) return
    const now = monotonicNow(this.#clock)
    // A timer may fire a little early. A delay of at least 1 ms prevents a busy loop.
    const delayMs = Math.min(MAX_SLEEP_MS, Math.max(1, first.dueAt - now))
    this.#wakesAt = now + delayMs
    this.#cancel = this.#clock.schedule(delayMs, () => this.#wake())
  }

  #wake(): void {
    const now = monotonicNow(this.#clock)
    for (let first = this.#waiting.first; first !== undefined; first = this.#waiting.first) {
      if (first.dueAt > now) break
      this.#waiting.shift()
      this.#onDue(first.delivery)
    }
    this.#sleep()
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order)
}
