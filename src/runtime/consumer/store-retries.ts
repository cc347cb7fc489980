import type { Clock } from '../../ports/clock.ts'
import { isLetterFault } from '../../ports/dead-letters.ts'
import { sleep } from '../sleep.ts'
import type { Pauses } from './pauses.ts'

/** The first wait before a failed save is repeated; it doubles. */
const STORE_RETRY_MS = 500
const STORE_RETRY_MAX_MS = 30_000

/** Repeats what a store must take. Until the store takes it, the consumer pulls no more events. */
export class StoreRetries {
  readonly #clock: Clock
  readonly #pauses: Pauses
  readonly #closing: AbortSignal
  readonly #goOn: () => void

  /** `goOn`: the store is back, and the consumer may continue with its open deliveries. */
  constructor(clock: Clock, pauses: Pauses, closing: AbortSignal, goOn: () => void) {
    this.#clock = clock
    this.#pauses = pauses
    this.#closing = closing
    this.#goOn = goOn
  }

  /** Resolves with false if the consumer closes before the store has taken it. Rejects with a fault of the letter: the store works. */
  async persist(task: () => Promise<unknown>): Promise<boolean> {
    for (let delayMs = STORE_RETRY_MS; ; delayMs = Math.min(STORE_RETRY_MAX_MS, delayMs * 2)) {
      try {
        await task()
        this.#storeIsBack()
        return true
      } catch (error) {
        if (isLetterFault(error)) {
          this.#storeIsBack()
          throw error
        }
        if (this.#closing.aborted) return false
        this.#pauses.add('store')
        await sleep(this.#clock, delayMs, this.#closing).catch(() => {})
      }
    }
  }

  #storeIsBack(): void {
    if (!this.#pauses.has('store')) return
    this.#pauses.remove('store')
    this.#goOn()
  }
}
