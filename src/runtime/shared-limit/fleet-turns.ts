import type { RetryLimitPolicy } from '../../core/limit/options.ts'
import type { RetryLimitDecision } from '../../core/limit/retry-limit.ts'
import type { Random } from '../../core/random.ts'
import type { SharedLimit } from '../../ports/shared-limit.ts'
import { FleetLimit, FleetRateLimit, type LimitOwner } from './fleet-link.ts'

type WithoutState<T> = T extends unknown ? Omit<T, 'state'> : never

/** The decision of the limit on a retry. */
export type RetryTurn = WithoutState<RetryLimitDecision>

/** The retry waits, or is given up on. */
export type LimitedTurn = Exclude<RetryTurn, { readonly action: 'go' }>

/** A retry whose turn is not known yet. */
export interface PendingTurn {
  readonly action: 'pending'
  /** Called once, perhaps before this has returned. */
  whenDecided(tell: (turn: RetryTurn, now: number) => void): void
  /** It does not want a turn any more, and hears nothing. */
  cancel(): void
}

/** The retry limit of a fleet. */
export type FleetTurns = TurnQueue | TurnsOrNone

export function fleetTurns(policy: RetryLimitPolicy, shared: SharedLimit, owner: LimitOwner): FleetTurns {
  const { pacing, onLimit } = policy
  if (pacing.kind === 'batch')
    throw new TypeError('a batch limit cannot be shared: options refuse both together')
  return onLimit === 'delay'
    ? new TurnQueue(policy, pacing.rate, shared, owner)
    : new TurnsOrNone(onLimit, shared, 'retry', pacing.rate, owner)
}

/** A retry that waits for the time of its turn. */
interface Waiter {
  readonly askedAt: number
  /**
   * Other members got the turns of an answer, and this one did not: the limit delays it, not the connection to the
   * shared limit.
   */
  isLimited: boolean
  /** Receives the time of the turn, or that there is none in time. */
  tell: (at: number | undefined, now: number) => void
}

/** Retries wait for their turn, first come, first served. */
class TurnQueue extends FleetLimit {
  readonly #maxWaitMs: number | undefined
  readonly #intervalMs: number
  readonly #spreadMs: number
  readonly #waiters = new Set<Waiter>()

  constructor(
    { jitterRatio, maxWaitMs }: RetryLimitPolicy,
    rate: { readonly perSecond: number; readonly burst: number; readonly intervalMs: number },
    shared: SharedLimit,
    owner: LimitOwner,
  ) {
    const { perSecond, burst, intervalMs } = rate
    super(shared, 'retry', { perSecond, burst, maxWaitMs, kind: 'queue' }, owner)
    this.#maxWaitMs = maxWaitMs
    this.#intervalMs = 1_000 / perSecond
    this.#spreadMs = jitterRatio * intervalMs
  }

  protected get waiting(): number {
    return this.#waiters.size
  }

  /** Waiting retries learn that there is no turn for them. */
  override async close(): Promise<void> {
    await super.close()
    this.#refuseAll(this.clock.now())
  }

  ask(now: number, random: Random): RetryTurn | PendingTurn {
    const at = this.#waiters.size > 0 ? undefined : this.member.take(now)
    if (at !== undefined) return this.#turn(at, now, false, random)
    // The retry would wait too long even without other retries in the fleet.
    const isHopeless =
      this.#maxWaitMs !== undefined && this.#waiters.size * this.#intervalMs > this.#maxWaitMs
    return isHopeless ? { action: 'dead-letter' } : this.#pending(now, random)
  }

  protected serve(now: number): void {
    const { member } = this
    let at: number | undefined
    let served = 0
    for (const waiter of this.#waiters) {
      at ??= member.take(now)
      if (at === undefined) break
      this.#waiters.delete(waiter)
      // One for whom the turn comes too late leaves it to the next.
      if (this.#maxWaitMs !== undefined && at - waiter.askedAt > this.#maxWaitMs) waiter.tell(undefined, now)
      else {
        waiter.tell(at, now)
        at = undefined
        served++
      }
    }
    if (served > 0) for (const waiter of this.#waiters) waiter.isLimited = true
    else if (member.isFull) this.#refuseAll(now)
  }

  #refuseAll(now: number): void {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const waiter of waiters) waiter.tell(undefined, now)
  }

  #pending(askedAt: number, random: Random): PendingTurn {
    const waiter: Waiter = { askedAt, isLimited: false, tell: () => {} }
    return {
      action: 'pending',
      whenDecided: hear => {
        waiter.tell = (at, now) => {
          const isTooLate = at === undefined
          hear(isTooLate ? { action: 'dead-letter' } : this.#turn(at, now, waiter.isLimited, random), now)
        }
        this.#waiters.add(waiter)
        this.look(askedAt)
      },
      // The next one gets its turn.
      cancel: () => this.#waiters.delete(waiter),
    }
  }

  /** A retry that others overtook counts as one that waited, even if its turn is now. */
  #turn(at: number, now: number, isLimited: boolean, random: Random): RetryTurn {
    if (at <= now && !isLimited) return { action: 'go' }
    return { action: 'wait', until: Math.max(at, now) + random() * this.#spreadMs }
  }
}

/** A retry has its turn now, or none. */
class TurnsOrNone extends FleetRateLimit {
  readonly #onLimit: 'drop' | 'dead-letter'

  constructor(onLimit: 'drop' | 'dead-letter', ...door: ConstructorParameters<typeof FleetRateLimit>) {
    super(...door)
    this.#onLimit = onLimit
  }

  ask(now: number): RetryTurn | PendingTurn {
    const at = this.enter(now)
    if (typeof at === 'number') return this.#turn(at, now)
    let isCancelled = false
    return {
      action: 'pending',
      whenDecided: tell => {
        void at.then(at => {
          if (!isCancelled) tell(this.#turn(at, now), this.clock.now())
        })
      },
      cancel: () => {
        isCancelled = true
      },
    }
  }

  #turn(at: number, now: number): RetryTurn {
    return { action: at <= now ? 'go' : this.#onLimit }
  }
}
