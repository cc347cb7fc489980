import type { Size } from '../campaign/draw.ts'

/** A campaign against a cluster of servers. `F` is what can go wrong with one kind of server only. */
export interface CampaignOptions<F extends string = never> extends Size {
  readonly consumers: number
  /** Whether the consumers keep the order of keys. */
  readonly ordering: 'none' | 'by-key'
  /** How often each thing goes wrong. */
  readonly faults: Readonly<Record<CommonFault | F, number>>
}

/**
 * - `kill`: one of the consumers, without warning; another begins in its place.
 * - `broker`: one of the servers is killed without warning and started again.
 * - `rolling`: each server is stopped and started, one after the other.
 * - `rebalance`: one consumer more joins, and leaves soon after.
 * - `cut`: every connection of one of the consumers, in the middle of whatever is on it.
 */
export type CommonFault = 'kill' | 'broker' | 'rolling' | 'rebalance' | 'cut'

/** What a handler makes of an event: `transient` fails twice and then succeeds, `permanent` fails for good. */
export type Kind = 'valid' | 'transient' | 'permanent'

export const SHARES: Readonly<Record<Exclude<Kind, 'valid'>, number>> = { transient: 0.05, permanent: 0.005 }

export const CHANNEL = 'campaign'
export const HANDLER = 'bill'
export const KEYS = 300
export const NODES = 3
