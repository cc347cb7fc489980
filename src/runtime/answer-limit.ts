import { isPromiseLike } from '../core/promise-like.ts'
import { type Clock, settlesWithin } from '../ports/clock.ts'

/** The time that an async schema or check has to answer. */
const ANSWER_TIMEOUT_MS = 5_000
/** After this many timeouts in a row a function is not asked again, so that a plan of many letters ends. */
const MAX_TIMEOUTS = 3

/** A schema or check of the user did not settle in time. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'

  constructor(who: string) {
    super(
      `${who} did not answer within ${ANSWER_TIMEOUT_MS / 1_000} s; find out why its promise does not settle`,
    )
  }
}

/** Limits the time of user functions that return promises. A promise that never settles must not hold up a plan. */
export class AnswerLimit {
  readonly #clock: Clock
  /** The timeouts in a row by function. */
  readonly #timeouts = new Map<unknown, number>()
  readonly #signal: AbortSignal | undefined

  /** No answer is waited for once the signal aborts. */
  constructor(clock: Clock, signal?: AbortSignal) {
    this.#clock = clock
    this.#signal = signal
  }

  /**
   * The answer of the function that `key` identifies. Rejects with `NoAnswerError` after the limit, and with the reason of the
   * signal when that aborts.
   */
  async of<T>(key: unknown, who: string, ask: () => T | PromiseLike<T>): Promise<T> {
    const timeouts = this.#timeouts.get(key) ?? 0
    if (timeouts >= MAX_TIMEOUTS) throw new NoAnswerError(who)
    const given = ask()
    if (!isPromiseLike(given)) return given
    const answer = Promise.resolve(given)
    const isInTime = await settlesWithin(this.#clock, ANSWER_TIMEOUT_MS, answer, this.#signal)
    if (!isInTime) this.#signal?.throwIfAborted()
    this.#timeouts.set(key, isInTime ? 0 : timeouts + 1)
    if (!isInTime) throw new NoAnswerError(who)
    return answer
  }
}
