import type { Cancel, Clock } from '../../../ports/clock.ts'

/** The number of checks in the time of a call. A call ends when it is due, or a quarter of its time later. */
const TICKS = 4

/** A call that must end in time. */
export interface Pending {
  expire(): void
  /** Set when it is added. */
  dueAtTick: number
}

/**
 * One timer for all calls of a connection. It counts checks and not the clock: a process that was stopped or blocked has
 * missed the checks, and no call pays for a time in which no answer could be read.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #pending = new Set<Pending>()
  #ticks = 0
  #cancel: Cancel | undefined

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock
    this.#everyMs = Math.ceil(limitMs / TICKS)
  }

  add(pending: Pending): void {
    pending.dueAtTick = this.#ticks + TICKS + 1
    this.#pending.add(pending)
    this.#arm()
  }

  end(pending: Pending): void {
    this.#pending.delete(pending)
  }

  close(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #arm(): void {
    if (this.#pending.size > 0) this.#cancel ??= this.#clock.schedule(this.#everyMs, () => this.#tick())
  }

  /** All calls have the same time, so they become due in the order of their start. */
  #tick(): void {
    this.#cancel = undefined
    this.#ticks += 1
    for (const pending of this.#pending) {
      if (pending.dueAtTick > this.#ticks) break
      this.#pending.delete(pending)
      pending.expire()
    }
    this.#arm()
  }
}
