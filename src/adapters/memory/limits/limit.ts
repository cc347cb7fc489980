import {
  type FleetBucket,
  grantTurns,
  IDLE_BUCKET,
  type TurnRequest,
} from '../../../core/limit/fleet/bucket.ts'
import { DEFAULT_ASSUMED_MEMBERS } from '../../../core/limit/fleet/policy.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, withDefault } from '../../../core/options/rules.ts'
import { type Clock, clockRule } from '../../../ports/clock.ts'
import {
  LimitClosedError,
  type LimitMember,
  type SharedLimit,
  type TurnReservation,
} from '../../../ports/shared-limit.ts'

/** Options of `memoryLimit()`. */
export interface MemoryLimitOptions {
  /** The number of processes to assume until the shared limit has answered for the first time [10]. */
  readonly assumedMembers?: number | undefined
  /** Supplies the time and the timers [the system clock]. Replace it in tests. */
  readonly clock?: Clock | undefined
}

interface LimitState {
  bucket: FleetBucket
  /** The time until which each member counts. */
  readonly members: Map<string, number>
}

/** A limit for all users of the same object in this process. It is for tests, and is the simplest shared limit. */
export class MemoryLimit implements SharedLimit {
  readonly assumedMembers: number
  readonly #clock: Clock
  readonly #limits = new Map<string, LimitState>()
  readonly #closing = new AbortController()

  constructor(options: MemoryLimitOptions = {}) {
    const rules = {
      assumedMembers: withDefault(integer({ min: 1 }), DEFAULT_ASSUMED_MEMBERS),
      clock: clockRule,
    }
    const { assumedMembers, clock } = resolveOptions('memoryLimit', rules, options)
    this.assumedMembers = assumedMembers
    this.#clock = clock
  }

  get closing(): AbortSignal {
    return this.#closing.signal
  }

  async reserve(limit: string, asked: TurnRequest, { id, ttlMs }: LimitMember): Promise<TurnReservation> {
    this.closing.throwIfAborted()
    const now = this.#clock.now()
    const kept = this.#limits.get(limit) ?? { bucket: IDLE_BUCKET, members: new Map() }
    this.#limits.set(limit, kept)
    const { bucket, answer } = grantTurns(kept.bucket, asked, now)
    kept.bucket = bucket
    kept.members.set(id, now + ttlMs)
    for (const [member, until] of kept.members) if (until <= now) kept.members.delete(member)
    return { ...answer, members: kept.members.size }
  }

  async leave(limit: string, memberId: string): Promise<void> {
    this.closing.throwIfAborted()
    this.#limits.get(limit)?.members.delete(memberId)
  }

  /** Behaves like a restarted server without stored data. */
  forget(): void {
    this.#limits.clear()
  }

  async close(): Promise<void> {
    this.#closing.abort(new LimitClosedError('memory'))
  }
}

/** Creates a shared limit for all users of the same object in this process, for tests. */
export function memoryLimit(options: MemoryLimitOptions = {}): MemoryLimit {
  return new MemoryLimit(options)
}
