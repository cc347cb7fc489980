import { yieldToEventLoop } from '../../../ports/clock.ts'

/**
 * Spreads work over turns of the event loop: a limited number of tasks in one turn, the rest in the next, first come,
 * first served. So ten thousand letters at the same moment do not block the process.
 */
export class EventLoopQuota {
  readonly #perTurn: number
  readonly #waiting: (() => void)[] = []
  #left: number
  #isRenewing = false

  constructor(perTurn: number) {
    this.#perTurn = perTurn
    this.#left = perTurn
  }

  /** Returns undefined while the current turn has room. */
  take(): Promise<void> | undefined {
    if (!this.#isRenewing) void this.#renew()
    if (this.#left === 0) return new Promise(resolve => this.#waiting.push(resolve))
    this.#left--
    return undefined
  }

  /** Resolves when no task waits. */
  async settle(): Promise<void> {
    do await yieldToEventLoop()
    while (this.#waiting.length > 0)
    await yieldToEventLoop()
  }

  async #renew(): Promise<void> {
    this.#isRenewing = true
    do {
      await yieldToEventLoop()
      const woken = this.#waiting.splice(0, this.#perTurn)
      this.#left = this.#perTurn - woken.length
      for (const wake of woken) wake()
    } while (this.#waiting.length > 0)
    this.#isRenewing = false
  }
}
