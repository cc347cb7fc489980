import type { Clock } from '../../ports/clock.ts'

interface PendingAnswer<T> {
  readonly at: number
  readonly answer: Promise<T>
  isPending: boolean
}

/**
 * Shares one query between many callers. It never runs twice at once, and its result is reused for a short time. All
 * callers wait for a running query, however long it takes, so the query itself needs a timeout.
 */
export class SingleFlight<T> {
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #ask: () => Promise<T>
  #latest: PendingAnswer<T> | undefined

  /** Callers share a failure of `ask` like any other result. */
  constructor(clock: Clock, maxAgeMs: number, ask: () => Promise<T>) {
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
    this.#ask = ask
  }

  /** The result of a query that began at most `maxAgeMs` ago. */
  get(): Promise<T> {
    return this.#answerSince(this.#clock.now() - this.#maxAgeMs + 1)
  }

  /** A result of now, for counts that must fit other counts. The result of a running query counts as one. */
  getNow(): Promise<T> {
    return this.#answerSince(this.#clock.now())
  }

  #answerSince(earliest: number): Promise<T> {
    const now = this.#clock.now()
    const latest = this.#latest
    // A clock that was set back must not extend the life of a result.
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
