import type { Cancel, Clock } from '../../ports/clock.ts'

/** Repeats an action. The time of each repetition depends only on its number, so a run repeats exactly. */
export class SteadyTraffic {
  readonly #clock: Clock
  readonly #timeOf: (number: number) => number
  readonly #happen: (number: number, at: number) => void
  #next = 0
  #cancel: Cancel | undefined
  #isClosed = false

  constructor(
    clock: Clock,
    timeOf: (number: number) => number,
    happen: (number: number, at: number) => void,
  ) {
    this.#clock = clock
    this.#timeOf = timeOf
    this.#happen = happen
  }

  start(): void {
    const number = this.#next++
    const at = this.#timeOf(number)
    this.#cancel = this.#clock.schedule(Math.max(0, at - this.#clock.now()), () => {
      this.#happen(number, at)
      if (!this.#isClosed) this.start()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }
}
