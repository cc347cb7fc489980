/** Counts what has begun and not ended, so that who closes can wait for it. */
export class UnderWay {
  #count = 0
  #waiting: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  end(): void {
    if (--this.#count > 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  /** Resolves once nothing is under way. */
  async none(): Promise<void> {
    if (this.#count > 0) await new Promise<void>(resolve => this.#waiting.push(resolve))
  }
}
