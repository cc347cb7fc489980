import type { StreamInfo } from '../../connection/jetstream.ts'

/** Where a stream begins and ends at the moment it was looked at. */
export interface StreamPosition {
  /** When the stream was made, in epoch milliseconds. */
  readonly createdAt: number
  readonly firstSequence: number
  /**
   * When its first message was stored, in epoch milliseconds. Undefined if the stream is empty, or if it has replicas: their
   * clocks can differ, and do not show which of two messages is older.
   */
  readonly firstStoredAt: number | undefined
  readonly lastSequence: number
}

export function positionOf({ created, state, config }: StreamInfo): StreamPosition {
  const storedAt = Date.parse(state.first_ts)
  const isComparable = state.messages > 0 && config['num_replicas'] === 1 && !Number.isNaN(storedAt)
  return {
    createdAt: Date.parse(created),
    firstSequence: state.first_seq,
    firstStoredAt: isComparable ? storedAt : undefined,
    lastSequence: state.last_seq,
  }
}

/**
 * Whether a message that a stream once had can still be the one of its sequence. If not, a killed server has begun the stream
 * again at 1, or has lost its end.
 */
export function canHaveHad(
  { firstSequence, firstStoredAt, lastSequence }: StreamPosition,
  { sequence, storedAt }: { readonly sequence: number; readonly storedAt: number },
): boolean {
  if (sequence > lastSequence) return false
  return firstStoredAt === undefined || sequence < firstSequence || storedAt >= firstStoredAt
}
