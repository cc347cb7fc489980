import { advance, IDLE, notBefore, type Rate, rate, withoutReservations } from '../../core/limit/gcra.ts'
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

  constructor(options: RequestLimitOptions) {
    this.#rate = rate(options)
  }

  require(caller: string, now: number): void {
    const tat = withoutReservations(this.#rate, this.#tats.get(caller) ?? IDLE, now)
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
}
