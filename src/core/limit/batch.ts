/**
 * Limits starts by batches: at most `size` starts together, and at least `everyMs` between two batches. A retry that comes
 * after the release of a batch waits for the next one, even if the batch was not full. Otherwise late starts of one batch
 * would overlap with the next. So any half-open window of `everyMs` contains at most one batch.
 */
export interface Batch {
  readonly size: number
  readonly everyMs: number
}

/** The newest batch: its release time, which may be in the future, and the number of places taken. */
export interface BatchState {
  readonly releaseAt: number
  readonly taken: number
}

/** The state before the first batch: as if a full batch had been released one interval before the epoch. */
export function initialBatch(batch: Batch): BatchState {
  return { releaseAt: -batch.everyMs, taken: batch.size }
}

/** Takes one place. The retry that took it starts at `releaseAt` of the returned batch. */
export function takeFromBatch(batch: Batch, state: BatchState, now: number): BatchState {
  const { releaseAt, taken } = state
  if (now >= releaseAt + batch.everyMs) return { releaseAt: now, taken: 1 }
  if (now <= releaseAt && taken < batch.size) return { releaseAt, taken: taken + 1 }
  return { releaseAt: releaseAt + batch.everyMs, taken: 1 }
}
