/**
 * The token bucket that a fleet shares: whoever keeps it (a server, the memory, a member that is on its own) grants
 * turns by these rules. It is the cell rate algorithm of `gcra.ts` told in relative times alone, because those who ask
 * and whoever keeps it have different clocks: no time of one is ever compared with a time of the other.
 *
 * A turn is a place of its own in the fleet's order: no two are given out at once, so however many ask, in t seconds at
 * most burst + perSecond × t turns come up.
 */
export interface FleetBucket {
  /** How many slots of 1 / perSecond seconds the turns given out reach beyond `seenAt`. */
  readonly ahead: number
  /** The keeper's clock when it was asked last. */
  readonly seenAt: number
}

/** One who asks for turns. */
export interface TurnsAsked {
  readonly perSecond: number
  readonly burst: number
  /** How many could be used; 0 only says that the member is there. */
  readonly want: number
  /** How many of them may be turns that come up later. Few, so that the others find some too. */
  readonly ahead: number
  /** None is given out that comes up after this time. */
  readonly longestWaitMs: number
  /**
   * How far ahead the member knows the bucket to be, whatever the keeper says: a keeper that was restarted and forgot
   * everything learns from those who ask that the burst was used.
   */
  readonly knownAheadMs: number
}

/** The turns that were given out: the k-th, from 0 on, comes up in `firstInMs` + k / perSecond. */
export interface TurnsGranted {
  readonly granted: number
  /** Below 0 for what a quiet time has saved up: it comes up at once. */
  readonly firstInMs: number
  /** How far ahead the bucket is now. */
  readonly aheadMs: number
}

export const IDLE_BUCKET: FleetBucket = Object.freeze({ ahead: 0, seenAt: 0 })

/** What sums of fractions may be off by. */
const ROUNDING_SLOTS = 1e-6

export function grantTurns(
  bucket: FleetBucket,
  asked: TurnsAsked,
  now: number,
): { readonly bucket: FleetBucket; readonly answer: TurnsGranted } {
  const { perSecond, burst, want, longestWaitMs, knownAheadMs } = asked
  const slots = (ms: number) => (ms * perSecond) / 1_000
  // A clock that was set back has passed no time; what was given out stays as far ahead as it was.
  const passed = Math.max(0, now - bucket.seenAt)
  const ahead = Math.max(0, bucket.ahead - slots(passed), slots(knownAheadMs))
  const first = ahead - (burst - 1)
  const upTo = (ms: number) => Math.max(0, Math.floor(slots(ms) - first + 1 + ROUNDING_SLOTS))
  const granted = Math.min(want, upTo(0) + asked.ahead, upTo(longestWaitMs))
  const ms = (count: number) => (count * 1_000) / perSecond
  return {
    bucket: { ahead: ahead + granted, seenAt: now },
    answer: { granted, firstInMs: ms(first), aheadMs: ms(ahead + granted) },
  }
}
