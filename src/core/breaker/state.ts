import type { Window } from '../limit/window.ts'

/**
 * Where a breaker stands. A plain value: it can be stored as JSON, shown, and compared.
 *
 * - **closed**: everything passes; results are counted.
 * - **open**: nothing passes until `until`.
 * - **half-open**: a few probes at a time pass; they find out whether the dependency is well again.
 * - **forced-open**, **forced-closed**: a person has decided; results count for nothing.
 *
 * | from                | to            | when                                                              |
 * | ------------------- | ------------- | ----------------------------------------------------------------- |
 * | closed              | open          | `failures` in a row, or the failure rate, is reached              |
 * | open                | half-open     | an attempt asks at or after `until`                               |
 * | open                | half-open     | a health check finds the dependency well                          |
 * | half-open           | open          | any probe fails                                                   |
 * | half-open           | closed        | `successes` probes have succeeded                                 |
 * | any but forced-open | forced-open   | by hand                                                           |
 * | any but forced-closed | forced-closed | by hand                                                         |
 * | forced-open         | half-open     | by hand, 'auto': nobody knows how the dependency is, so probe it  |
 * | forced-closed       | closed        | by hand, 'auto'                                                   |
 *
 * Every transition begins a new `epoch`. An attempt remembers the epoch it was admitted in, and its result counts
 * only for that: a failure from before the breaker opened does not reopen it, a success from then does not close it.
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
  /** Counted results, and the failed ones among them; kept only for a failure rate. */
  readonly calls?: Window
  readonly failed?: Window
}

export interface Open extends Common {
  readonly mode: 'open'
  readonly until: number
  /** Openings in a row, this one included, without having been closed between. */
  readonly opens: number
}

export interface HalfOpen extends Common {
  readonly mode: 'half-open'
  /** Openings in a row before these probes. */
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
