import type { LazaretEvent } from '../../../core/event/event.ts'
import { SEVERITY_HEADER } from '../../../core/event/severity.ts'
import { bypassesLimit } from '../../../core/limit/bypass.ts'
import type { EventLimitPolicy } from '../../../core/limit/options.ts'
import { RateLimiter, type Shareable } from '../../limiters.ts'
import type { LimitOwner } from '../../shared-limit/fleet-link.ts'
import type { GiveUp } from './track-result.ts'

/**
 * The handler on the letter of an event that the entry limit or a closed dispatcher refused. None of the sinks has had the
 * event, so a replay sends it to all of them. No sink can have this name.
 */
export const EVERY_SINK = '*'

/** The option `rateLimit`: lets so many events a second into the dispatcher. Retries count like new events. */
export class EntryLimit {
  #policy: EventLimitPolicy | undefined
  readonly limiter: RateLimiter | undefined

  constructor(policy: Shareable<EventLimitPolicy> | undefined, owner: LimitOwner) {
    this.#policy = policy
    this.limiter = policy && new RateLimiter(policy, owner)
  }

  /** Takes over another rate. A limit is not turned on or off while the dispatcher runs. */
  changePolicy(policy: EventLimitPolicy | undefined): void {
    if (policy === undefined || this.limiter === undefined) return
    this.#policy = policy
    this.limiter.changePolicy(policy)
  }

  /**
   * Undefined when the event may go on, else the time from which one more may. A promise, where the limit is shared and
   * has to be asked for; it never rejects.
   */
  refuses(event: LazaretEvent, now: number): number | undefined | Promise<number | undefined> {
    if (this.#policy === undefined || this.limiter === undefined) return undefined
    const { type, headers } = event
    const severity = headers[SEVERITY_HEADER]
    if (bypassesLimit(this.#policy.bypass, { type, severity, event })) return undefined
    const retryAt = this.limiter.take(now)
    return typeof retryAt === 'number' ? ifLater(retryAt, now) : whenAnswered(retryAt, now)
  }

  /** What the letter of a refused event says: the limit, and the time. */
  giveUp(now: number): GiveUp {
    const limit = this.#policy?.perSecond ?? null
    return { reason: 'rate_limited', detail: { limit, limitedAt: now } }
  }
}

function ifLater(retryAt: number, now: number): number | undefined {
  return retryAt > now ? retryAt : undefined
}

/** A function of its own, because its closure would cost every event, also without a limit. */
function whenAnswered(retryAt: Promise<number>, now: number): Promise<number | undefined> {
  return retryAt.then(answer => ifLater(answer, now))
}
