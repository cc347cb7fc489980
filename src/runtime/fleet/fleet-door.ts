import type { FleetPolicy } from '../../core/limit/fleet/policy.ts'
import type { SharedLimit } from '../../ports/shared-limit.ts'
import { FleetLink, type LimitOwner, type Waiting } from './fleet-link.ts'

/** What one who was let in hears: earlier than any time. */
const LET_IN = Number.NEGATIVE_INFINITY

/** A limit of a fleet that answers yes or no. Most answers are given at once, from turns taken ahead. */
export class FleetDoor implements Waiting {
  readonly #link: FleetLink
  readonly #tell: ((retryAt: number) => void)[] = []

  constructor(
    shared: SharedLimit,
    kind: 'rate' | 'retry',
    { perSecond, burst }: Pick<FleetPolicy, 'perSecond' | 'burst'>,
    owner: LimitOwner,
  ) {
    const policy = { perSecond, burst, kind: 'door', maxWaitMs: undefined } as const
    this.#link = new FleetLink(shared, kind, policy, owner, this)
  }

  get size(): number {
    return this.#tell.length
  }

  join(): void {
    this.#link.join()
  }

  close(): Promise<void> {
    return this.#link.close()
  }

  now(): number {
    return this.#link.clock.now()
  }

  /** The time from which one more is allowed; `now` or earlier means that it was taken. */
  enter(now: number): number | Promise<number> {
    // Behind those who wait there is nothing to be had.
    const at = this.#tell.length > 0 ? undefined : this.#link.member.enter(now)
    if (at !== undefined) {
      if (at <= now) this.#link.look(now)
      return at
    }
    return new Promise(resolve => {
      this.#tell.push(resolve)
      this.#link.look(now)
    })
  }

  serve(now: number): void {
    let served = 0
    for (const tell of this.#tell) {
      const at = this.#link.member.enter(now)
      if (at === undefined) break
      served++
      tell(at <= now ? LET_IN : at)
    }
    if (served > 0) this.#tell.splice(0, served)
  }
}
