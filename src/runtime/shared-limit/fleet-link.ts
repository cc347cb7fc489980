import { createIdSource } from '../../core/event/uuid.ts'
import { FleetMember } from '../../core/limit/fleet/member.ts'
import { type FleetPolicy, MEMBER_TTL_MS } from '../../core/limit/fleet/policy.ts'
import { type Cancel, type Clock, systemRandom } from '../../ports/clock.ts'
import type { Observer } from '../../ports/observer.ts'
import type { LimitMember, SharedLimit } from '../../ports/shared-limit.ts'
import { observe } from '../observe.ts'
import { release, retain } from '../share.ts'

/** Whom a shared limit belongs to. */
export interface LimitOwner {
  /** Names it in observations. */
  readonly name: string
  /** Tells the limits of one owner apart: a dispatcher has one for each sink. */
  readonly part?: string | undefined
  readonly clock: Clock
  readonly observer: Observer
  /** The limit releases retries in its own batches, and observes them itself. */
  readonly tellsBatches?: boolean | undefined
  /** Its last user does not close what keeps the limit for all. */
  readonly leaveOpen?: boolean | undefined
}

/** The I/O of a shared limit. It sends the requests of its member, passes the answers to it, and wakes it in time. */
export abstract class FleetLimit {
  protected readonly member: FleetMember
  protected readonly clock: Clock
  readonly #shared: SharedLimit
  readonly #limit: string
  readonly #kind: 'rate' | 'retry'
  readonly #owner: LimitOwner
  readonly #self: LimitMember
  #isJoined = false
  #wasAlone = false
  #wakeAt = Number.POSITIVE_INFINITY
  #cancelWake: Cancel | undefined

  constructor(
    shared: SharedLimit,
    kind: 'rate' | 'retry',
    policy: Omit<FleetPolicy, 'assumedMembers'>,
    owner: LimitOwner,
  ) {
    this.member = new FleetMember({ ...policy, assumedMembers: shared.assumedMembers })
    this.clock = owner.clock
    this.#shared = shared
    this.#kind = kind
    this.#limit = owner.part === undefined ? kind : `${kind}:${owner.part}`
    this.#owner = owner
    // Not from the owner's random source: two processes with the same seed are still two members.
    const id = createIdSource(systemRandom)(owner.clock.now())
    this.#self = { id, ttlMs: MEMBER_TTL_MS }
  }

  /** How many wait for what the fleet answers. */
  protected abstract get waiting(): number

  /** Something was answered, or the member went on alone: gives out what there is. */
  protected abstract serve(now: number): void

  /**
   * Announces this member, now and from time to time, so that all members know their share when the shared limit is
   * unreachable.
   */
  join(): void {
    if (this.#isJoined) return
    this.#isJoined = true
    retain(this.#shared)
    this.#shared.closing.addEventListener('abort', this.#rest)
    this.look(this.clock.now())
  }

  protected look(now: number): void {
    if (!this.#isJoined) {
      this.join()
      return
    }
    this.member.advance(now, this.waiting)
    if (this.waiting > 0) this.serve(now)
    this.#askIfDue(now)
    this.#observeMode()
    this.#sleep(now)
  }

  /** Ends its membership. A limiter that is used after that joins again. */
  async close(): Promise<void> {
    if (!this.#isJoined) return
    this.#isJoined = false
    this.#shared.closing.removeEventListener('abort', this.#rest)
    this.#rest()
    if (!this.#shared.closing.aborted) await this.#shared.leave(this.#limit, this.#self.id).catch(() => {})
    await release(this.#shared, this.#owner.leaveOpen)
  }

  readonly #rest = (): void => {
    if (this.#isJoined && !this.#isOver) return
    this.#cancelWake?.()
    this.#cancelWake = undefined
    this.#wakeAt = Number.POSITIVE_INFINITY
  }

  #askIfDue(now: number): void {
    const asked = this.#isOver ? undefined : this.member.toAsk(now, this.waiting)
    if (asked === undefined) return
    const answered = (updateMember: (now: number) => void) => {
      const now = this.clock.now()
      updateMember(now)
      if (this.#isJoined) this.look(now)
    }
    this.#shared.reserve(this.#limit, asked, this.#self).then(
      answer => answered(now => this.member.answered(asked, answer, now)),
      () => answered(now => this.member.unanswered(asked, now)),
    )
  }

  /** The limit closes. Waiting retries get the turns that the member grants itself. */
  get #isOver(): boolean {
    return this.#shared.closing.aborted && this.waiting === 0
  }

  #observeMode(): void {
    const { isAlone, members } = this.member
    if (isAlone === this.#wasAlone) return
    this.#wasAlone = isAlone
    const { name, observer } = this.#owner
    const mode = isAlone ? 'alone' : 'together'
    if (observer.sharedLimitChanged)
      observe(observer, 'sharedLimitChanged', { name, limit: this.#kind, mode, members })
  }

  #sleep(now: number): void {
    const at = this.#isOver ? Number.POSITIVE_INFINITY : this.member.wakeAt(this.waiting)
    if (at === this.#wakeAt) return
    this.#cancelWake?.()
    this.#cancelWake = undefined
    this.#wakeAt = at
    if (at === Number.POSITIVE_INFINITY) return
    this.#cancelWake = this.clock.schedule(Math.max(0, at - now), () => {
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.look(this.clock.now())
    })
  }
}

/** The answer to an admitted event: a time before any other time. */
const ADMIT_NOW = Number.NEGATIVE_INFINITY

/** Answers yes or no. Most answers are given at once, from turns taken ahead. */
export class FleetRateLimit extends FleetLimit {
  readonly #tell: ((retryAt: number) => void)[] = []

  constructor(
    shared: SharedLimit,
    kind: 'rate' | 'retry',
    { perSecond, burst }: Pick<FleetPolicy, 'perSecond' | 'burst'>,
    owner: LimitOwner,
  ) {
    super(shared, kind, { perSecond, burst, kind: 'door', maxWaitMs: undefined }, owner)
  }

  protected get waiting(): number {
    return this.#tell.length
  }

  /** The time from which one more is allowed; `now` or earlier means that it was taken. */
  enter(now: number): number | Promise<number> {
    // Behind waiting members there is no free turn.
    const at = this.#tell.length > 0 ? undefined : this.member.enter(now)
    if (at !== undefined) {
      if (at <= now) this.look(now)
      return at
    }
    return new Promise(resolve => {
      this.#tell.push(resolve)
      this.look(now)
    })
  }

  protected serve(now: number): void {
    let served = 0
    for (const tell of this.#tell) {
      const at = this.member.enter(now)
      if (at === undefined) break
      served++
      tell(at <= now ? ADMIT_NOW : at)
    }
    if (served > 0) this.#tell.splice(0, served)
  }
}
