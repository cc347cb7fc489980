import { countOf } from '../../../../adapter-kit/wire/carried-log.ts'
import type { JetStream } from '../../connection/jetstream.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import type { HandlerNames } from './names.ts'
import { readStateRecord, stateMessage } from './state-record.ts'
import { hasRestartedSince, type StreamPosition } from './stream-position.ts'

const SAME_CONSUMER_MS = 1_000

/** How far a handler has come in the stream of its channel, as the state stream records it. */
interface ProgressRecord {
  /** When the stream was made: another one counts from 1. */
  readonly created: string
  /** The handler has settled every event up to this sequence. */
  readonly settledTo: number
  /** When the last event was stored that the stream had then, in epoch milliseconds. Undefined in records of earlier versions. */
  readonly lastStoredAt?: number | undefined
  /** When the consumer was made whose progress this is. Undefined in records of earlier versions. */
  readonly consumerCreated?: string | undefined
}

/** Undefined if nothing is recorded. */
export async function readProgress(
  jetstream: JetStream,
  names: HandlerNames,
): Promise<ProgressRecord | undefined> {
  const found = await readStateRecord(jetstream, names, subjectOf(names))
  if (found === undefined) return undefined
  const { created, settledTo, lastStoredAt, consumerCreated } = found
  return {
    created: String(created),
    settledTo: countOf(settledTo),
    lastStoredAt: typeof lastStoredAt === 'number' ? lastStoredAt : undefined,
    consumerCreated: typeof consumerCreated === 'string' ? consumerCreated : undefined,
  }
}

/** `stream` is the state stream. */
export function writeProgress(names: HandlerNames, stream: string, record: ProgressRecord): OutgoingMessage {
  return stateMessage(stream, subjectOf(names), record)
}

/** The stream has begun again. The next consumer of the handler begins with all of it. */
export async function voidProgress(jetstream: JetStream, names: HandlerNames): Promise<void> {
  const record: ProgressRecord = { created: '', settledTo: 0 }
  await jetstream.publish(subjectOf(names), JSON.stringify(record))
}

/** Whether the stream counts from 1 again since the record was written. */
export function hasRestartedSinceRecord(
  { settledTo, lastStoredAt }: ProgressRecord,
  position: StreamPosition,
): boolean {
  return hasRestartedSince({ lastSequence: settledTo, lastStoredAt }, position)
}

/** Whether two times are those of one consumer. A server of 2.9 gives another one after its restart, later by some milliseconds. */
export function isSameConsumer(created: string, other: string): boolean {
  return Math.abs(Date.parse(created) - Date.parse(other)) < SAME_CONSUMER_MS
}

function subjectOf({ stateSubject }: HandlerNames): string {
  return `${stateSubject}.place`
}
