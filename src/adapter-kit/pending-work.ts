/** Counts what has begun and not ended, so that `close` can wait for it. */
export class PendingWork {
  #count = 0
  #waiting: (() => void)[] = []

  get count(): number {
    return this.#count
  }

  begin(): void {
    this.#count++
  }

  end(): void {
    if (--this.#count > 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  /** Resolves once nothing is pending. */
  async settled(): Promise<void> {
    if (this.#count > 0) await new Promise<void>(resolve => this.#waiting.push(resolve))
  }
}
