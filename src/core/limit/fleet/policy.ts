/** The rules of a shared limit. */
export interface FleetPolicy {
  readonly perSecond: number
  readonly burst: number
  /** `queue`: a caller without a turn waits for one. `door`: a caller without a turn is refused. */
  readonly kind: 'queue' | 'door'
  /** The longest wait for a turn. */
  readonly maxWaitMs: number | undefined
  /** The assumed number of members until the fleet has answered. */
  readonly assumedMembers: number
}

/** With no answer from the start, a fleet of more than these would go beyond its limit. */
export const DEFAULT_ASSUMED_MEMBERS = 10
/** The time for which a member takes turns in advance. It asks about ten times a second, whatever the rate. */
export const SLICE_MS = 200
/**
 * A member that waits longer than this for an answer continues alone, with its share. It requests more turns when the
 * remaining ones last this long, so that it neither stops nor has to catch up.
 */
export const ANSWER_TIMEOUT_MS = 100
/** The interval at which a member that is alone tries to reach the fleet. */
export const PROBE_EVERY_MS = 200
/** The interval at which a member announces itself, even without a need for turns. */
export const HEARTBEAT_MS = 5_000
/** A member that was silent for this time has left the fleet. */
export const MEMBER_TTL_MS = 3 * HEARTBEAT_MS

/** The time for which an unused turn is kept. Retries wait for their turns, so their turns are not kept. */
export function keepMs({ kind }: FleetPolicy): number {
  return kind === 'door' ? 1_000 : SLICE_MS
}

const MAX_QUEUE_MS = 86_400_000

export function longestWaitMs({ kind, maxWaitMs = MAX_QUEUE_MS }: FleetPolicy): number {
  return kind === 'door' ? SLICE_MS : Math.min(maxWaitMs, MAX_QUEUE_MS)
}
