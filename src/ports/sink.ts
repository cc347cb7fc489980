import type { LazaretEvent } from '../core/event/event.ts'

/** An event of the batch that was not written, by its place in the batch. */
export interface RejectedItem {
  readonly index: number
  readonly error: unknown
}

/** Nothing, or an empty list, means that the whole batch was written. */
export type WriteResult = { readonly rejected: readonly RejectedItem[] } | undefined

/** How large batches are best for a sink. */
export interface BatchLimits {
  readonly maxCount?: number | undefined
  /** About: close to the JSON text of the events. */
  readonly maxBytes?: number | undefined
}

/**
 * Writes batches of events to somewhere outside.
 *
 * - `write` resolves when the receiver has accepted the batch, naming the items it refused; it throws when the batch as
 *   a whole failed. An answer that does not fit the batch (`rejected: null`, an index outside the batch, the same index
 *   twice) is a failed write: nothing counts as written. After a permanent failure of the batch that is not one of the
 *   receiver (category `schema`, `business` or `unknown`) the lane writes its halves, down to the events to blame. `write` may be called again with the same events: the receiver
 *   sees duplicates, never a gap.
 * - It is called with one batch at a time unless the lane is configured otherwise, in the order of tracking, and
 *   should stop when the signal aborts. The lane gives up on time by itself either way.
 * - It must not change the events: the other sinks, the journal and the letters have the same objects.
 * - `probe` asks whether the receiver works, cheaply and without writing an event; it throws when not. A sink
 *   without it is probed by its next batch.
 * - `batch` says how large batches are best. The lane keeps to it unless its options say otherwise, so a sink must
 *   cope with larger ones, and with one event that is larger by itself.
 * - `close` releases connections; the lane flushes before. Closing twice is safe.
 */
export interface Sink {
  readonly batch?: BatchLimits | undefined
  write(
    batch: readonly LazaretEvent[],
    context: { readonly signal: AbortSignal },
    // biome-ignore lint/suspicious/noConfusingVoidType: most sinks refuse nothing and return nothing
  ): Promise<WriteResult | void>
  probe?(context: { readonly signal: AbortSignal }): Promise<void>
  close?(): Promise<void>
}
