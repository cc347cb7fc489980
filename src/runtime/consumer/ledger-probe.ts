import type { Cancel, Clock } from '../../ports/clock.ts'

/** A ledger that did not answer is asked again after so long, doubling up to the longest. */
const FIRST_DELAY_MS = 1_000
const LONGEST_DELAY_MS = 30_000

/** When a ledger that does not answer is asked again. */
export class LedgerProbe {
  readonly #clock: Clock
  readonly #probe: () => void
  #cancel: Cancel | undefined
  #delayMs = FIRST_DELAY_MS

  constructor(clock: Clock, probe: () => void) {
    this.#clock = clock
    this.#probe = probe
  }

  /** Does nothing while the next probe is under way. */
  schedule(): void {
    if (this.#cancel !== undefined) return
    this.#cancel = this.#clock.schedule(this.#delayMs, () => {
      this.#cancel = undefined
      this.#probe()
    })
    this.#delayMs = Math.min(LONGEST_DELAY_MS, this.#delayMs * 2)
  }

  /** It answered, or nobody asks any more. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#delayMs = FIRST_DELAY_MS
  }
}
