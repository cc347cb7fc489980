/**
 * A part of the writing thread that remembers something of the tables between transactions. What it remembers is
 * written by `flush` before every commit and dropped by `forget` when it may be wrong: after a rollback, and when
 * another process has written.
 */
export interface Part {
  flush(): void
  forget(why: 'rolled-back' | 'others-wrote'): void
}
