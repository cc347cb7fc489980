import type { Size } from '../campaign/draw.ts'

export interface CampaignOptions extends Size {
  readonly consumers: number
  /** How often each thing goes wrong. */
  readonly faults: Readonly<Record<Fault, number>>
}

/**
 * - `kill`: one of the consumers, without warning; another begins in its place.
 * - `hang`: one of the consumers stands still for longer than its lease, and goes on.
 * - `restart`: the server is killed without warning and started again.
 * - `freeze`: the server stands still for longer than every lease, and goes on.
 * - `cut`: every connection, in the middle of whatever is on it.
 */
export type Fault = 'kill' | 'hang' | 'restart' | 'freeze' | 'cut'

/** What a handler makes of an event: `transient` fails twice and then succeeds, `permanent` fails for good. */
export type Kind = 'valid' | 'transient' | 'permanent'

export const SHARES: Readonly<Record<Exclude<Kind, 'valid'>, number>> = { transient: 0.05, permanent: 0.01 }

export const CHANNEL = 'campaign'
/** Short, so that faults can outlast it. */
export const LEASE_MS = 2_000
export const LONGER_THAN_A_LEASE_MS = 5_000

/** Short timeouts: a fault is noticed within seconds, so that a campaign has time for many. */
export const FAST_DETECTION = {
  leaseMs: LEASE_MS,
  maxPollMs: 200,
  timeoutMs: 2_000,
  reconnectMaxMs: 500,
} as const
