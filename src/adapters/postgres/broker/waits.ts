const FIRST_MS = 100
const LONGEST_MS = 60_000
const MOST_KEPT = 10_000

/** How long each row waits whose settlements fail: longer every time, so that what cannot be recorded is not a hot loop. */
export class Waits {
  readonly #failures = new Map<number, number>()

  /** It failed once more. */
  next(seq: number): number {
    const before = this.#failures.get(seq) ?? 0
    this.#failures.delete(seq)
    this.#failures.set(seq, before + 1)
    // Somebody else may have settled it: the ones longest without a failure are forgotten.
    if (this.#failures.size > MOST_KEPT) this.#failures.delete(this.#failures.keys().next().value!)
    return Math.min(LONGEST_MS, FIRST_MS * 2 ** before)
  }

  forget(seq: number): void {
    this.#failures.delete(seq)
  }
}
