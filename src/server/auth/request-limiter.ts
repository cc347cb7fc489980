import { advance, IDLE, moveClock, notBefore, type Rate, rate } from '../../core/limit/gcra.ts'
import { ProblemError } from '../problem.ts'

/** A limit on requests per second. */
export interface RequestLimitOptions {
  /** Requests per second for each token. */
  readonly perSecond: number
  /** Requests that may arrive at once after a quiet time [one second's worth]. */
  readonly burst?: number | undefined
}

/** Limits the request rate of each caller. Unauthenticated callers share one limit. */
export class RequestLimiter {
  readonly #rate: Rate
  readonly #tats = new Map<string, number>()
  #seenAt = Number.NEGATIVE_INFINITY

  constructor(options: RequestLimitOptions) {
    this.#rate = rate(options)
  }

  require(caller: string, now: number): void {
    this.#notice(now)
    const tat = this.#tats.get(caller) ?? IDLE
    const at = notBefore(this.#rate, tat, now)
    if (at <= now) {
      this.#tats.set(caller, advance(this.#rate, tat, now))
      return
    }
    const seconds = Math.max(1, Math.ceil((at - now) / 1_000))
    throw new ProblemError('too-many-requests', `Too many requests. Retry in ${seconds} s.`, {
      headers: { 'retry-after': String(seconds) },
    })
  }

  /** A clock that was set back takes all callers with it. Otherwise they would be refused until it has caught up. */
  #notice(now: number): void {
    if (now < this.#seenAt)
      for (const [caller, tat] of this.#tats)
        this.#tats.set(caller, moveClock(this.#rate, tat, this.#seenAt, now))
    this.#seenAt = now
  }
}
