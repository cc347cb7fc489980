/** Counts finished events, and computes their rate and their CPU time from the first to the last. */
export class Meter {
  readonly #count: number
  readonly #all = Promise.withResolvers<number>()
  #startedAt = 0n
  #cpuAtStart: NodeJS.CpuUsage | undefined
  #cpuMicroseconds = Number.NaN
  #done = 0

  constructor(count: number) {
    this.#count = count
  }

  readonly tick = (): void => {
    if (this.#done++ === 0) {
      this.#startedAt = process.hrtime.bigint()
      this.#cpuAtStart = process.cpuUsage()
    }
    if (this.#done !== this.#count) return
    const { user, system } = process.cpuUsage(this.#cpuAtStart)
    this.#cpuMicroseconds = (user + system) / this.#count
    this.#all.resolve(this.#count / (Number(process.hrtime.bigint() - this.#startedAt) / 1e9))
  }

  /** Events per second. */
  rate(): Promise<number> {
    return this.#all.promise
  }

  /** CPU time of this process for one event, which other programs on the machine change less than the rate. */
  get cpuMicroseconds(): number {
    return this.#cpuMicroseconds
  }
}
