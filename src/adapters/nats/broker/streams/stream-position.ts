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
  /** When the last message was stored that it has had, in epoch milliseconds. Undefined if the stream has replicas. */
  readonly lastStoredAt: number | undefined
}

/** How far a stream had counted at an earlier time, and when it had stored the latest of these messages. */
export type StreamEnd = Pick<StreamPosition, 'lastSequence' | 'lastStoredAt'>

export function positionOf({ created, state, config }: StreamInfo): StreamPosition {
  const timeOf = (text: string | undefined) => {
    const time = Date.parse(text ?? '')
    return config['num_replicas'] === 1 && !Number.isNaN(time) ? time : undefined
  }
  return {
    createdAt: Date.parse(created),
    firstSequence: state.first_seq,
    firstStoredAt: state.messages > 0 ? timeOf(state.first_ts) : undefined,
    lastSequence: state.last_seq,
    lastStoredAt: timeOf(state.last_ts),
  }
}

/** Whether a message cannot be one of those that the stream had had: it has the sequence of one of them and is younger. */
export function isYoungerThan(
  { lastSequence, lastStoredAt }: StreamEnd,
  { sequence, storedAt }: { readonly sequence: number; readonly storedAt: number },
): boolean {
  return lastStoredAt !== undefined && sequence <= lastSequence && storedAt > lastStoredAt
}

/** Whether a killed server counts the stream from 1 again since it ended there, or has lost its end. */
export function hasRestartedSince(end: StreamEnd, position: StreamPosition): boolean {
  const { firstSequence: sequence, firstStoredAt: storedAt, lastSequence } = position
  if (end.lastSequence > lastSequence) return true
  return storedAt !== undefined && isYoungerThan(end, { sequence, storedAt })
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
