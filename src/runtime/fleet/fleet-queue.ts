import type { FleetPolicy } from '../../core/limit/fleet/policy.ts'
import type { SharedLimit } from '../../ports/shared-limit.ts'
import { FleetLink, type LimitOwner, type Waiting } from './fleet-link.ts'

/** One who waits to hear when its turn comes. */
interface Waiter {
  readonly askedAt: number
  /** Others got the turns of an answer, and this one did not: it is the limit that holds it up, not the way to the keeper. */
  isLimited: boolean
  /** Told the time of its turn, or that there is none in time. */
  tell(at: number | undefined, now: number): void
}

/** A limit of a fleet in which everyone waits for a turn, first come, first served. */
export class FleetQueue implements Waiting {
  readonly #link: FleetLink
  readonly #maxWaitMs: number | undefined
  readonly #intervalMs: number
  readonly #waiters = new Set<Waiter>()

  constructor(
    shared: SharedLimit,
    policy: Pick<FleetPolicy, 'perSecond' | 'burst' | 'maxWaitMs'>,
    owner: LimitOwner,
  ) {
    this.#maxWaitMs = policy.maxWaitMs
    this.#intervalMs = 1_000 / policy.perSecond
    this.#link = new FleetLink(shared, 'retry', { ...policy, kind: 'queue' }, owner, this)
  }

  get size(): number {
    return this.#waiters.size
  }

  join(): void {
    this.#link.join()
  }

  /** Those who wait hear that there is no turn for them. */
  async close(): Promise<void> {
    await this.#link.close()
    this.#refuseAll(this.#link.clock.now())
  }

  /** The time of a turn that is there already. */
  take(now: number): number | undefined {
    return this.#waiters.size > 0 ? undefined : this.#link.member.take(now)
  }

  /** Even if nobody else in the fleet had a retry, this one would wait too long. */
  get isHopeless(): boolean {
    return this.#maxWaitMs !== undefined && this.#waiters.size * this.#intervalMs > this.#maxWaitMs
  }

  wait(waiter: Waiter): void {
    this.#waiters.add(waiter)
    this.#link.look(waiter.askedAt)
  }

  /** It does not want its turn any more; the next one gets it. */
  cancel(waiter: Waiter): void {
    this.#waiters.delete(waiter)
  }

  serve(now: number): void {
    const { member } = this.#link
    let at: number | undefined
    let served = 0
    for (const waiter of this.#waiters) {
      at ??= member.take(now)
      if (at === undefined) break
      this.#waiters.delete(waiter)
      // One for whom the turn comes too late leaves it to the next.
      if (this.#isTooLate(waiter, at)) waiter.tell(undefined, now)
      else {
        waiter.tell(at, now)
        at = undefined
        served++
      }
    }
    if (served > 0) for (const waiter of this.#waiters) waiter.isLimited = true
    else if (member.isFull) this.#refuseAll(now)
  }

  #isTooLate({ askedAt }: Waiter, at: number): boolean {
    return this.#maxWaitMs !== undefined && at - askedAt > this.#maxWaitMs
  }

  #refuseAll(now: number): void {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const waiter of waiters) waiter.tell(undefined, now)
  }
}
