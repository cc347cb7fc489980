import { yieldToEventLoop } from '../../../ports/clock.ts'

/**
 * Shares out work that would otherwise be done all at once: so much of it in one turn of the event loop, the rest in
 * the next, first come, first served. Ten thousand letters sent at the same moment then keep nobody else waiting.
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

  /** Nothing to wait for while there is room in this turn. */
  take(): Promise<void> | undefined {
    if (!this.#isRenewing) void this.#renew()
    if (this.#left === 0) return new Promise(resolve => this.#waiting.push(resolve))
    this.#left--
    return undefined
  }

  /** Resolves when nobody waits any more. */
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
