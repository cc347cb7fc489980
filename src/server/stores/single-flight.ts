import type { Clock } from '../../ports/clock.ts'

interface PendingAnswer<T> {
  readonly at: number
  readonly answer: Promise<T>
  isPending: boolean
}

/**
 * One question that many ask: it is never asked twice at once, and an answer is shared for a short time. An answer that
 * takes longer than that is shared by all who wait for it, so the question itself has to bound how long that is.
 */
export class SingleFlight<T> {
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #ask: () => Promise<T>
  #latest: PendingAnswer<T> | undefined

  /** A failure of `ask` is shared like any other answer. */
  constructor(clock: Clock, maxAgeMs: number, ask: () => Promise<T>) {
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
    this.#ask = ask
  }

  /** An answer that was asked for at most `maxAgeMs` ago. */
  get(): Promise<T> {
    return this.#answerSince(this.#clock.now() - this.#maxAgeMs + 1)
  }

  /** An answer of this moment, for figures that have to fit others. One that is still awaited counts as such. */
  getNow(): Promise<T> {
    return this.#answerSince(this.#clock.now())
  }

  #answerSince(earliest: number): Promise<T> {
    const now = this.#clock.now()
    const latest = this.#latest
    // A clock that was set back must not keep an answer for longer.
    const isFresh = latest !== undefined && now >= latest.at && latest.at >= earliest
    if (latest !== undefined && (latest.isPending || isFresh)) return latest.answer
    const next: PendingAnswer<T> = { at: now, answer: this.#ask(), isPending: true }
    this.#latest = next
    const settled = () => {
      next.isPending = false
    }
    next.answer.then(settled, settled)
    return next.answer
  }
}
