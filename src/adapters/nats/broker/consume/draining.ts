import type { Cancel, Clock } from '../../../../ports/clock.ts'

/** A slow handler must not keep the suspects of a crash waiting without limit. */
const MAX_DRAINING_MS = 5_000

/** Lets a suspect run when no other delivery is open, or when the others have taken too long. */
export class Draining {
  readonly #clock: Clock
  readonly #tookTooLong: () => void
  #cancel: Cancel | undefined
  #isTooLong = false

  constructor(clock: Clock, tookTooLong: () => void) {
    this.#clock = clock
    this.#tookTooLong = tookTooLong
  }

  /** Lets the next suspect run, or answers false while others run. After an admission the one after it waits in its turn. */
  admitSuspect(others: number): boolean {
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
