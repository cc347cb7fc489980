interface Waiting<I, O> {
  readonly item: I
  resolve(result: O): void
  reject(error: unknown): void
}

/** Gathers what is asked for while the last batch is under way, so that one command serves all of it. */
export class Gathering<I, O> {
  readonly #flush: (items: readonly I[]) => Promise<readonly O[]>
  readonly #most: number
  #waiting: Waiting<I, O>[] = []
  #isBusy = false

  constructor(most: number, flush: (items: readonly I[]) => Promise<readonly O[]>) {
    this.#most = most
    this.#flush = flush
  }

  add(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#isBusy) return
      this.#isBusy = true
      // Behind everything that is resolved in this turn: then their items go together.
      process.nextTick(() => void this.#run())
    })
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most)
      try {
        const results = await this.#flush(batch.map(({ item }) => item))
        for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isBusy = false
  }
}
