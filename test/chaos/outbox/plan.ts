import type { Size } from '../campaign/draw.ts'

export interface CampaignOptions extends Size {
  readonly relays: number
  /** How often each thing goes wrong. */
  readonly faults: Readonly<Record<Fault, number>>
}

/**
 * - `kill`: one of the relays, without warning; another begins in its place.
 * - `restart`: Postgres is stopped in immediate mode and started again.
 * - `outage`: the same, and every lease runs out before it is started again.
 * - `freeze`: one of the relays stands still for longer than its lease, and goes on.
 * - `cut`: every connection, in the middle of whatever is on it.
 */
export type Fault = 'kill' | 'restart' | 'outage' | 'freeze' | 'cut'

/** Short, so that faults can outlast it. */
export const LEASE_MS = 2_000
export const LONGER_THAN_A_LEASE_MS = 5_000

/**
 * What a relay makes of an event. `transient` fails twice and then succeeds, `permanent` fails for good, `recoverable` fails
 * for good until a person replays it.
 */
export type Kind = 'valid' | 'transient' | 'permanent' | 'recoverable'

export const SHARES: Readonly<Record<Exclude<Kind, 'valid'>, number>> = {
  transient: 0.1,
  permanent: 0.01,
  recoverable: 0.005,
}

/** Half of the events ask for the order of their key, the other half do not. */
export const ORDERED = 'ordered'
export const FREE = 'free'
export const RELAY = 'to-effects'

/** As many of a key in either size of a campaign, so that keys are waited for alike. */
export const PER_KEY = 100
