/** Counts finished events, and computes their rate from the first to the last. */
export class Meter {
  readonly #count: number
  readonly #all = Promise.withResolvers<number>()
  #startedAt = 0n
  #done = 0

  constructor(count: number) {
    this.#count = count
  }

  readonly tick = (): void => {
    if (this.#done++ === 0) this.#startedAt = process.hrtime.bigint()
    if (this.#done === this.#count)
      this.#all.resolve(this.#count / (Number(process.hrtime.bigint() - this.#startedAt) / 1e9))
  }

  /** Events per second. */
  rate(): Promise<number> {
    return this.#all.promise
  }
}
