/**
 * The token bucket that a fleet shares: its holder (a server, the memory, a member that is on its own) grants turns by
 * these rules. It is the cell rate algorithm of `gcra.ts` in relative times alone, because the members and the holder
 * have different clocks: a time of one is never compared with a time of the other.
 *
 * Each turn is granted once, so in t seconds at most burst + perSecond × t turns come up, however many members ask.
 */
export interface FleetBucket {
  /** How many slots of 1 / perSecond seconds the turns given out reach beyond `seenAt`. */
  readonly ahead: number
  /** The holder's clock at the last request. */
  readonly seenAt: number
  /** How long after `seenAt` those who come back from being alone go on together; below 0 that was before. */
  readonly settlesInMs: number
  /** How long before `seenAt` one that is not alone wanted turns. */
  readonly idleMs: number
}

/** A request of a member for turns. */
export interface TurnRequest {
  readonly perSecond: number
  readonly burst: number
  /** The number of turns that the member can use; 0 only announces the member. */
  readonly want: number
  /** The number of these turns that may come up later. It is small, so that other members get turns too. */
  readonly ahead: number
  /** The holder grants no turn that comes up after this time. */
  readonly longestWaitMs: number
  /**
   * How far ahead the member knows the bucket to be, even if the holder says less: a restarted holder that forgot
   * everything learns from the members that the burst was used.
   */
  readonly knownAheadMs: number
  /** Whether the member has lost its connection to the shared limit and grants its own turns. */
  readonly isAlone: boolean
}

/** The granted turns. Turn k, counted from 0, comes up in `firstInMs` + k / perSecond. */
export interface TurnGrant {
  readonly granted: number
  /** Below 0 for what a quiet time has saved up: it comes up at once. */
  readonly firstInMs: number
  /** How far ahead the bucket is now. */
  readonly aheadMs: number
  /** The time for which a member that was alone keeps to its share, because other members return too. */
  readonly settlesInMs: number
}

export const IDLE_BUCKET: FleetBucket = Object.freeze({
  ahead: 0,
  seenAt: 0,
  settlesInMs: Number.NEGATIVE_INFINITY,
  idleMs: Number.POSITIVE_INFINITY,
})

/**
 * After the first has come back from being alone, for all of them: if each took from the bucket as soon as it reached it,
 * some would have the whole rate while others still use their shares. It is longer than a lost connection takes to come back.
 */
export const SETTLE_MS = 700
/** A member that returns later than this was the only one without a connection. */
export const SETTLED_MS = 2 * SETTLE_MS
/** If a member has asked within this time, the others are connected, and the returning member was the only one without a connection. */
export const BUSY_MS = 300

/** What sums of fractions may be off by. */
const ROUNDING_SLOTS = 1e-6

export function grantTurns(
  bucket: FleetBucket,
  asked: TurnRequest,
  now: number,
): { readonly bucket: FleetBucket; readonly answer: TurnGrant } {
  const { perSecond, burst, want, longestWaitMs, knownAheadMs } = asked
  const slots = (ms: number) => (ms * perSecond) / 1_000
  // A clock that was set back has passed no time; what was given out stays as far ahead as it was.
  const passed = Math.max(0, now - bucket.seenAt)
  const ahead = Math.max(0, bucket.ahead - slots(passed), slots(knownAheadMs))
  const first = ahead - (burst - 1)
  const upTo = (ms: number) => Math.max(0, Math.floor(slots(ms) - first + 1 + ROUNDING_SLOTS))
  const granted = Math.min(want, upTo(0) + asked.ahead, upTo(longestWaitMs))
  const left = bucket.settlesInMs - passed
  const idleMs = !asked.isAlone && want > 0 ? 0 : bucket.idleMs + passed
  const mustSettle = asked.isAlone && left < -SETTLED_MS && idleMs > BUSY_MS
  const settlesInMs = mustSettle ? SETTLE_MS : left
  const ms = (count: number) => (count * 1_000) / perSecond
  return {
    bucket: { ahead: ahead + granted, seenAt: now, settlesInMs, idleMs },
    answer: {
      granted,
      firstInMs: ms(first),
      aheadMs: ms(ahead + granted),
      settlesInMs: asked.isAlone ? Math.max(0, settlesInMs) : 0,
    },
  }
}
