import type { Size } from '../campaign/draw.ts'

export interface CampaignOptions extends Size {
  readonly broker: 'rabbitmq' | 'sqlite'
  readonly consumers: number
  /** How often each thing happens. */
  readonly faults: Readonly<Record<Fault, number>>
}

/**
 * - `one`: one of the consumers gets a SIGTERM; when it has ended, another begins in its place.
 * - `two`: the same, and a second SIGTERM comes while it closes.
 * - `starting`: the same as `one`, and the consumer in its place gets a SIGTERM while it starts.
 * - `all`: all consumers get a SIGTERM at once, and others begin in their places.
 */
export type Fault = 'one' | 'two' | 'starting' | 'all'

/**
 * The behaviour of the handler for an event.
 * - `fine`: takes up to a tenth of a second.
 * - `slow`: can outlive the grace time; it obeys its signal and then has no effect.
 * - `ignoring`: can outlive the grace time; it ignores its signal and continues.
 * - `late`: ignores its signal and ends after its timeout, while the consumer still waits for it.
 * - `overdue`: the same, and ends after the consumer has stopped waiting for it.
 * - `transient`: fails twice and then succeeds.
 * - `permanent`: fails with a permanent error.
 * - `failing`: fails at each attempt.
 */
export type Kind = 'valid' | keyof typeof SHARES

export const SHARES = {
  slow: 0.04,
  ignoring: 0.04,
  late: 0.02,
  overdue: 0.02,
  transient: 0.05,
  permanent: 0.02,
  failing: 0.02,
} as const

export const CHANNEL = 'campaign'
export const ATTEMPTS = 6
/** Shorter than the timeout, so that an attempt can outlive it. */
export const GRACE_MS = 500
export const TIMEOUT_MS = 1_000
export const LATE_MS = 600
/** A claim whose process has ended without releasing it is left to its lease. */
export const LEASE_MS = 3_000

/** How long the handler takes, the longest of the fine ones. */
export const TAKES_MS: Readonly<Record<Kind, number>> = {
  valid: 100,
  slow: 800,
  ignoring: 800,
  late: 1_300,
  overdue: 2_200,
  transient: 40,
  permanent: 40,
  failing: 40,
}
