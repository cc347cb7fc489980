import type { Cancel, Clock } from '../../../../ports/clock.ts'

/** A slow handler must not keep the suspects of a crash waiting without limit. */
const MAX_DRAINING_MS = 5_000

/** A suspect runs when nothing else does, or when that took too long. */
export class Draining {
  readonly #clock: Clock
  readonly #tookTooLong: () => void
  #cancel: Cancel | undefined
  #isTooLong = false

  constructor(clock: Clock, tookTooLong: () => void) {
    this.#clock = clock
    this.#tookTooLong = tookTooLong
  }

  /** Whether the next suspect may run while so many others do. If so, the one after it waits in its turn. */
  mayRunSuspect(others: number): boolean {
    if (others > 0 && !this.#isTooLong) {
      this.#cancel ??= this.#clock.schedule(MAX_DRAINING_MS, () => {
        this.#isTooLong = true
        this.#tookTooLong()
      })
      return false
    }
    this.close()
    this.#isTooLong = false
    return true
  }

  close(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }
}
