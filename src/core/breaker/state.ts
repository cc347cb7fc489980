import type { Window } from '../limit/window.ts'

/**
 * The state of a circuit breaker. It is a plain value, so that it can be stored as JSON, shown and compared.
 *
 * - **closed**: the breaker admits every attempt and counts the results.
 * - **open**: the breaker refuses every attempt until `until`.
 * - **half-open**: the breaker admits a few probes at a time to test the dependency.
 * - **forced-open**, **forced-closed**: a person has decided; the breaker ignores results.
 *
 * | from                | to            | when                                                              |
 * | ------------------- | ------------- | ----------------------------------------------------------------- |
 * | closed              | open          | `failures` in a row, or the failure rate, is reached              |
 * | open                | half-open     | an attempt asks at or after `until`                               |
 * | open                | half-open     | a health check of the dependency succeeds                         |
 * | half-open           | open          | any probe fails                                                   |
 * | half-open           | closed        | `successes` probes have succeeded                                 |
 * | any but forced-open | forced-open   | a person forces it open                                           |
 * | any but forced-closed | forced-closed | a person forces it closed                                       |
 * | forced-open         | half-open     | a person chooses 'auto': probes test the dependency first         |
 * | forced-closed       | closed        | a person chooses 'auto'                                           |
 *
 * Every transition starts a new `epoch`. An attempt keeps the epoch in which it was admitted, and its result counts only
 * in that epoch. So a failure from before the breaker opened does not open it again, and such a success does not close it.
 */
export type BreakerState = Closed | Open | HalfOpen | ForcedOpen | ForcedClosed

/** The name of a breaker's state. */
export type BreakerMode = BreakerState['mode']

interface Common {
  readonly epoch: number
  readonly since: number
}

export interface Closed extends Common {
  readonly mode: 'closed'
  /** Failures in a row. */
  readonly failures: number
  /** All results and the failed ones, kept only if the policy has a failure rate. */
  readonly calls?: Window
  readonly failed?: Window
}

export interface Open extends Common {
  readonly mode: 'open'
  readonly until: number
  /** The number of openings since the breaker was last closed, with this one. It makes the open time grow. */
  readonly opens: number
}

export interface HalfOpen extends Common {
  readonly mode: 'half-open'
  /** The number of openings since the breaker was last closed. */
  readonly opens: number
  readonly successes: number
  readonly probesInFlight: number
  readonly lastProbeAt: number
  /**
   * The epoch in which half-open began. Giving up on probes begins a new epoch too, so that they no longer hold
   * slots. But should a result of theirs come after all, it counts: where every handler is slower than `openMs`,
   * ignoring it would keep the breaker half-open permanently.
   */
  readonly firstEpoch: number
}

interface ForcedOpen extends Common {
  readonly mode: 'forced-open'
  readonly by?: string
}

interface ForcedClosed extends Common {
  readonly mode: 'forced-closed'
  readonly by?: string
}
