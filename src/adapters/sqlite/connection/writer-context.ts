/**
 * Something that the writing thread remembers of the tables between transactions. It is written by `flush` before every
 * commit and dropped by `forget` when it may be wrong: after a rollback, and when another process has written.
 */
export interface Cached {
  flush?(): void
  forget(why: 'rolled-back' | 'others-wrote'): void
}

/** What the call that runs now may know besides its arguments. */
export interface WriterContext {
  now: number
  /** The same moment by a clock that nobody sets: what waits for its time goes by this one. */
  steadyNow: number
  /** Whether another process has written since the last poll. */
  othersWrote: boolean
}
