import { Heap } from '../../../core/heap.ts'
import type { Cancel, Clock } from '../../../ports/clock.ts'
import type { MemoryDelivery } from './delivery.ts'

/** Caps sleeps so that clock changes are noticed. */
const MAX_SLEEP_MS = 60_000

interface Waiting {
  readonly delivery: MemoryDelivery
  readonly notBefore: number
  /** The order of arrival, which decides between deliveries with the same time. */
  readonly order: number
}

/** Holds deliveries until they are due. One timer serves all of them, for the earliest one. */
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
    this.#waiting.push({ delivery, notBefore, order: this.#order++ })
    if (notBefore < this.#wakesAt) this.#sleep()
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
    const now = this.#clock.now()
    // A timer may fire a little early. A delay of at least 1 ms prevents a busy loop.
    const delayMs = Math.min(MAX_SLEEP_MS, Math.max(1, first.notBefore - now))
    this.#wakesAt = now + delayMs
    this.#cancel = this.#clock.schedule(delayMs, () => this.#wake())
  }

  #wake(): void {
    const now = this.#clock.now()
    for (let first = this.#waiting.first; first !== undefined; first = this.#waiting.first) {
      if (first.notBefore > now) break
      this.#waiting.shift()
      this.#onDue(first.delivery)
    }
    this.#sleep()
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  return a.notBefore < b.notBefore || (a.notBefore === b.notBefore && a.order < b.order)
}
