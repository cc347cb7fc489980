import type { Size } from '../campaign/draw.ts'

export interface CampaignOptions extends Size {
  readonly consumers: number
  /** Whether the consumers keep the order of keys. */
  readonly ordering: 'none' | 'by-key'
  /** How often each thing goes wrong. */
  readonly faults: Readonly<Record<Fault, number>>
}

/**
 * - `kill`: one of the consumers, without warning; another begins in its place.
 * - `broker`: one of the brokers is killed without warning and started again.
 * - `rolling`: each broker is stopped and started, one after the other.
 * - `rebalance`: one consumer more joins the group, and leaves it soon after.
 * - `cut`: every connection of one of the consumers, in the middle of whatever is on it.
 */
export type Fault = 'kill' | 'broker' | 'rolling' | 'rebalance' | 'cut'

/** What a handler makes of an event: `transient` fails twice and then succeeds, `permanent` fails for good. */
export type Kind = 'valid' | 'transient' | 'permanent'

export const SHARES: Readonly<Record<Exclude<Kind, 'valid'>, number>> = { transient: 0.05, permanent: 0.005 }

export const CHANNEL = 'campaign'
export const HANDLER = 'bill'
export const KEYS = 300
export const PARTITIONS = 12
export const NODES = 3

/** A member that was killed is missed within seconds, so that a campaign has time for many faults. */
export const SESSION_CONFIG = { 'group.consumer.session.timeout.ms': '6000' }

/** Short timeouts, for the same reason. */
export const FAST_DETECTION = { requestTimeoutMs: 5_000, heartbeatMs: 300, drainMs: 2_000 } as const
