/** Tells of one failure in a row, after so many that are nobody's trouble, and of the next only when it went well between. */
export class FirstFailure {
  readonly #onError: (error: unknown) => void
  readonly #tolerated: number
  #failures = 0

  constructor(onError: (error: unknown) => void, tolerated = 0) {
    this.#onError = onError
    this.#tolerated = tolerated
  }

  /** Whether it went well. */
  async of(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      this.#failures = 0
      return true
    } catch (error) {
      if (this.#failures++ === this.#tolerated) this.#onError(error)
      return false
    }
  }
}
