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
/** Turns are taken for so long ahead: a member asks about ten times a second, whatever the rate. */
export const SLICE_MS = 200
/**
 * Who waits for an answer longer than this goes on alone, with its share. More turns are asked for when those there are
 * last so long, so that it neither stops nor has to catch up.
 */
export const PATIENCE_MS = 100
/** A member on its own looks so often whether the fleet can be asked again. */
export const PROBE_EVERY_MS = 200
/** A member says so often that it is there, whether it wants turns or not. */
export const HEARTBEAT_MS = 5_000
/** A member that was silent for this time has left the fleet. */
export const MEMBER_TTL_MS = 3 * HEARTBEAT_MS

/** A turn that came up and was not used is kept for so long. Retries wait for their turns, so theirs are not kept. */
export function keepMs({ kind }: FleetPolicy): number {
  return kind === 'door' ? 1_000 : SLICE_MS
}

const MAX_QUEUE_MS = 86_400_000

export function longestWaitMs({ kind, maxWaitMs = MAX_QUEUE_MS }: FleetPolicy): number {
  return kind === 'door' ? SLICE_MS : Math.min(maxWaitMs, MAX_QUEUE_MS)
}
