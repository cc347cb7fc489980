/**
 * A part of the tables that the writing thread caches between transactions. `flush` writes it before every commit.
 * `forget` drops it when it may be outdated: after a rollback, and when another process has written.
 */
export interface Cached {
  flush?(): void
  forget(why: 'rolled-back' | 'others-wrote'): void
}

/** The context of the current call, in addition to its arguments. */
export interface WriterContext {
  now: number
  /** The same moment by the monotonic clock, which no one can set. Waits use it. */
  steadyNow: number
  /** Whether another process has written since the last poll. */
  othersWrote: boolean
}
