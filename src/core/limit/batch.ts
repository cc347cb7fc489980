/**
 * Starts in batches: at most `size` together, and at least `everyMs` from one batch to the next. What comes after a
 * batch has been released waits for the next one even when the batch was not full. Otherwise its late starts and the
 * next batch would meet; like this, any half-open window of `everyMs` sees at most one batch.
 */
export interface Batch {
  readonly size: number
  readonly everyMs: number
}

/** The newest batch: when it is released, which may be yet to come, and how many places of it are taken. */
export interface BatchState {
  readonly releaseAt: number
  readonly taken: number
}

/** Before the first batch: as if a full one had been released one interval before the epoch. */
export function initialBatch(batch: Batch): BatchState {
  return { releaseAt: -batch.everyMs, taken: batch.size }
}

/** The newest batch once one more place is taken; what took it starts at its `releaseAt`. */
export function takeFromBatch(batch: Batch, state: BatchState, now: number): BatchState {
  const { releaseAt, taken } = state
  if (now >= releaseAt + batch.everyMs) return { releaseAt: now, taken: 1 }
  if (now <= releaseAt && taken < batch.size) return { releaseAt, taken: taken + 1 }
  return { releaseAt: releaseAt + batch.everyMs, taken: 1 }
}
