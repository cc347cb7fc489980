interface Waiting<I, O> {
  readonly item: I
  resolve(result: O | Promise<O>): void
  reject(error: unknown): void
}

/**
 * Gathers what is asked for while the last batch is under way, so that one call of the server serves all of it. The
 * flush answers each item in its place, or with a promise that rejects where that item alone has failed.
 */
export class WriteBatcher<I, O> {
  readonly #flush: (items: readonly I[]) => Promise<readonly (O | Promise<O>)[]>
  readonly #most: number
  #waiting: Waiting<I, O>[] = []
  #isBusy = false

  constructor(most: number, flush: (items: readonly I[]) => Promise<readonly (O | Promise<O>)[]>) {
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
        for (let index = 0; index < batch.length; index++) batch[index]!.resolve(results[index]!)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isBusy = false
  }
}

/**
 * Gathers as `WriteBatcher` does, for writes with one answer for the whole batch. All items of a batch share its promise,
 * so an item costs no promise of its own.
 */
export class SharedWriteBatcher<I, O> {
  readonly #flush: (items: readonly I[]) => Promise<O>
  readonly #most: number
  /** The batch that is written next, and its answer. */
  #items: I[] = []
  #answer: Promise<O> | undefined
  /** Never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  /** Writes that wait or are under way. */
  #open = 0

  constructor(most: number, flush: (items: readonly I[]) => Promise<O>) {
    this.#most = most
    this.#flush = flush
  }

  add(item: I): Promise<O> {
    if (this.#answer !== undefined && this.#items.length < this.#most) {
      this.#items.push(item)
      return this.#answer
    }
    const items = [item]
    const answer = this.#write(items, this.#last)
    this.#items = items
    this.#answer = answer
    this.#follow(answer)
    return answer
  }

  /**
   * Does work that has the effect of a write. Writes that are added meanwhile come after it. Undefined if a write waits or
   * is under way, because then the work would have to wait for it.
   */
  insteadOfWrite<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#open > 0) return undefined
    const answer = work()
    this.#follow(answer)
    return answer
  }

  #follow(answer: Promise<unknown>): void {
    this.#open++
    const end = () => void this.#open--
    this.#last = answer.then(end, end)
  }

  async #write(items: I[], previous: Promise<unknown>): Promise<O> {
    await previous
    // Behind everything that is resolved in this turn: then their items go together.
    await new Promise<void>(resolve => process.nextTick(resolve))
    if (this.#items === items) this.#answer = undefined
    return this.#flush(items)
  }
}
