/**
 * The rule for how many letters one batch of a deletion has. While a store deletes a batch, its other calls wait, so a batch may
 * take at most 50 ms. Letters differ in size and stores in speed, so the size follows the time that the batches take: the next
 * batch is as large as would have taken 15 ms, which leaves room for a store that is busy. It at most doubles, because one fast batch proves little, and it
 * shrinks at once.
 */
const TARGET_MS = 15
const MAX_GROWTH = 2
/** Fewer would spend the time on round trips. A store that deletes 5,000 letters a second needs 10 ms for them. */
const SMALLEST = 50
/** More in one step gains nothing, and a cancel would wait longer. */
const LARGEST = 2_000

export const FIRST_BATCH = 100

/** The size of the next batch, after a batch of `size` letters that took `tookMs`. */
export function nextBatchSize(size: number, tookMs: number): number {
  const wanted = tookMs <= 0 ? Number.POSITIVE_INFINITY : Math.floor((size * TARGET_MS) / tookMs)
  return Math.max(SMALLEST, Math.min(LARGEST, size * MAX_GROWTH, wanted))
}
