import { type Cancel, type Clock, monotonicNow } from '../ports/clock.ts'

/** Caps a sleep, so that changes of the clock are noticed. */
const MAX_SLEEP_MS = 60_000

/** One timer for many things that wait. Of several times the earliest counts. */
export class WakeTimer {
  readonly #clock: Clock
  readonly #wake: () => void
  #dueAt = Number.POSITIVE_INFINITY
  #cancel: Cancel = () => {}
  #isClosed = false

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock
    this.#wake = wake
  }

  /** By a monotonic clock. */
  wakeAt(dueAt: number): void {
    if (dueAt >= this.#dueAt || this.#isClosed) return
    this.#dueAt = dueAt
    this.#cancel()
    const waitMs = Math.min(MAX_SLEEP_MS, Math.max(0, dueAt - monotonicNow(this.#clock)))
    this.#cancel = this.#clock.schedule(waitMs, () => {
      this.#dueAt = Number.POSITIVE_INFINITY
      this.#wake()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }
}
