import { LazaretError } from '../core/failure/errors.ts'
import type { TurnGrant, TurnRequest } from '../core/limit/fleet/bucket.ts'

/** One limiter of one process that takes part in a shared limit. */
export interface LimitMember {
  readonly id: string
  /** A member that is silent for this time is not counted any more. */
  readonly ttlMs: number
}

/** The answer to a request for turns. */
export interface TurnReservation extends TurnGrant {
  /** The number of members, including the caller. */
  readonly members: number
}

/**
 * Keeps limits for a fleet: all processes with the same shared limit take their turns from one bucket.
 *
 * - `reserve` grants turns by the rule of `grantTurns` (core/limit/fleet/bucket.ts), atomically: no turn is granted
 *   twice, also with many concurrent calls. It uses the clock of the shared limit. No time in a request or an answer is
 *   absolute. It also counts the member, even if the member wants no turns.
 * - It may be called at any time, also while the shared limit is unreachable, and settles within a bounded time (some
 *   seconds). After a rejection the turns may be taken or not: the member then continues alone, because a lost turn
 *   costs less than one that is used twice.
 * - A limit that is not known begins full, unless `knownAheadMs` says otherwise. So nothing needs to be durable: after
 *   a restart, the members tell the shared limit what it forgot.
 * - The state of a limit disappears after a while without calls.
 * - `leave` says that a member has ended. Nothing is lost if it fails.
 * - After `close` both methods reject. Running calls may be rejected. Closing twice is safe.
 */
export interface SharedLimit {
  /** The assumed number of members before the shared limit has ever answered. */
  readonly assumedMembers: number
  /** Aborted by `close`. */
  readonly closing: AbortSignal
  reserve(limit: string, asked: TurnRequest, member: LimitMember): Promise<TurnReservation>
  leave(limit: string, memberId: string): Promise<void>
  close(): Promise<void>
}

/** Asked after `close`. */
export class LimitClosedError extends LazaretError {
  override readonly name = 'LimitClosedError'

  constructor(limit: string) {
    super(`shared limit '${limit}': closed; close it after all its users, or open a new one`, {
      code: 'LAZARET_STORE_CLOSED',
      retryable: false,
    })
  }
}
