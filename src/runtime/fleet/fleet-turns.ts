import type { RetryLimitPolicy } from '../../core/limit/options.ts'
import type { RetryLimitDecision } from '../../core/limit/retry-limit.ts'
import type { Random } from '../../core/random.ts'
import type { SharedLimit } from '../../ports/shared-limit.ts'
import { FleetDoor } from './fleet-door.ts'
import type { LimitOwner } from './fleet-link.ts'
import { FleetQueue } from './fleet-queue.ts'

type WithoutState<T> = T extends unknown ? Omit<T, 'state'> : never

/** What becomes of a retry, as the limit has decided. */
export type RetryTurn = WithoutState<RetryLimitDecision>

/** The retry waits, or is given up on. */
export type LimitedTurn = Exclude<RetryTurn, { readonly action: 'go' }>

/** A retry of which nobody knows yet when its turn comes. */
export interface PendingTurn {
  readonly action: 'pending'
  /** Called once, perhaps before this has returned. */
  whenDecided(tell: (turn: RetryTurn, now: number) => void): void
  /** It does not want a turn any more, and hears nothing. */
  cancel(): void
}

/** The retry limit of a fleet. */
export interface FleetTurns {
  ask(now: number, random: Random): RetryTurn | PendingTurn
  join(): void
  close(): Promise<void>
}

export function fleetTurns(policy: RetryLimitPolicy, shared: SharedLimit, owner: LimitOwner): FleetTurns {
  const { pace, onLimit } = policy
  if (pace.kind === 'batch') throw new TypeError('a fleet shares no batches: options with both are refused')
  return onLimit === 'delay'
    ? new DelayedTurns(policy, pace.rate, shared, owner)
    : new TurnsOrNone(onLimit, new FleetDoor(shared, 'retry', pace.rate, owner))
}

/** Retries wait for their turn. */
class DelayedTurns implements FleetTurns {
  readonly #queue: FleetQueue
  readonly #spreadMs: number

  constructor(
    { jitterRatio, maxWaitMs }: RetryLimitPolicy,
    rate: { readonly perSecond: number; readonly burst: number; readonly intervalMs: number },
    shared: SharedLimit,
    owner: LimitOwner,
  ) {
    const { perSecond, burst, intervalMs } = rate
    this.#queue = new FleetQueue(shared, { perSecond, burst, maxWaitMs }, owner)
    this.#spreadMs = jitterRatio * intervalMs
  }

  ask(now: number, random: Random): RetryTurn | PendingTurn {
    const at = this.#queue.take(now)
    if (at !== undefined) return this.#turn(at, now, false, random)
    if (this.#queue.isHopeless) return { action: 'dead-letter' }
    return this.#pending(now, random)
  }

  join(): void {
    this.#queue.join()
  }

  close(): Promise<void> {
    return this.#queue.close()
  }

  #pending(askedAt: number, random: Random): PendingTurn {
    let hear: (turn: RetryTurn, now: number) => void = () => {}
    const waiter = {
      askedAt,
      isLimited: false,
      tell: (at: number | undefined, now: number) =>
        hear(
          at === undefined ? { action: 'dead-letter' } : this.#turn(at, now, waiter.isLimited, random),
          now,
        ),
    }
    return {
      action: 'pending',
      whenDecided: tell => {
        hear = tell
        this.#queue.wait(waiter)
      },
      cancel: () => this.#queue.cancel(waiter),
    }
  }

  /** One that others went before has waited, even if its turn is now. */
  #turn(at: number, now: number, isLimited: boolean, random: Random): RetryTurn {
    if (at <= now && !isLimited) return { action: 'go' }
    return { action: 'wait', until: Math.max(at, now) + random() * this.#spreadMs }
  }
}

/** A retry has its turn now, or none. */
class TurnsOrNone implements FleetTurns {
  readonly #onLimit: 'drop' | 'dead-letter'
  readonly #door: FleetDoor

  constructor(onLimit: 'drop' | 'dead-letter', door: FleetDoor) {
    this.#onLimit = onLimit
    this.#door = door
  }

  ask(now: number): RetryTurn | PendingTurn {
    const at = this.#door.enter(now)
    return typeof at === 'number' ? this.#turn(at, now) : this.#pending(at, now)
  }

  join(): void {
    this.#door.join()
  }

  close(): Promise<void> {
    return this.#door.close()
  }

  #pending(at: Promise<number>, askedAt: number): PendingTurn {
    let isCancelled = false
    return {
      action: 'pending',
      whenDecided: tell => {
        void at.then(at => {
          if (!isCancelled) tell(this.#turn(at, askedAt), this.#door.now())
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
