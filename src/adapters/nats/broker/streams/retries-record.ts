import { countOf } from '../../../../adapter-kit/wire/carried-log.ts'
import type { ConsumerInfo, JetStream, StreamInfo } from '../../connection/jetstream.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import type { HandlerNames } from './names.ts'
import { isSameConsumer } from './progress-record.ts'
import { readStateRecord, stateMessage } from './state-record.ts'
import { isYoungerThan, type StreamEnd } from './stream-position.ts'

/** How far the retry stream had counted, as the state stream records it for a handler. */
interface RetriesRecord extends StreamEnd {
  /** When the stream was made: another one has other messages. */
  readonly created: string
  /** When the consumer of the handler was made. One that was made since has seen the stream as it is now. */
  readonly consumerCreated: string
}

/** `stream` is the state stream. */
export function writeRetriesRecord(
  names: HandlerNames,
  stream: string,
  record: RetriesRecord,
): OutgoingMessage {
  return stateMessage(stream, subjectOf(names), record)
}

/** Undefined if nothing is recorded. */
async function readRetriesRecord(
  jetstream: JetStream,
  names: HandlerNames,
): Promise<RetriesRecord | undefined> {
  const found = await readStateRecord(jetstream, names, subjectOf(names))
  if (found === undefined) return undefined
  const { created, lastSequence, lastStoredAt, consumerCreated } = found
  return {
    created: String(created),
    lastSequence: countOf(lastSequence),
    lastStoredAt: typeof lastStoredAt === 'number' ? lastStoredAt : undefined,
    consumerCreated: String(consumerCreated),
  }
}

/**
 * Whether the retry stream counts from 1 again, or has lost its end, since its record was written. A message of the handler shows
 * it: it has a sequence that the stream had reached then, and is younger than the record. What the consumer says does not show
 * it, because a killed server also forgets the last moments of a consumer, and can bring settled messages back.
 */
export async function haveRetriesRestarted(
  jetstream: JetStream,
  names: HandlerNames,
  found: StreamInfo,
  consumer: ConsumerInfo,
): Promise<boolean> {
  if (found.state.messages === 0) return false
  const record = await readRetriesRecord(jetstream, names)
  if (record?.created !== found.created || !isSameConsumer(record.consumerCreated, consumer.created))
    return false
  const end = Math.min(record.lastSequence, found.state.last_seq)
  // Messages that wait since before the record can stand before the younger ones. A later message is never the older one.
  for (let from = 1, to = end, next = 1; from <= to; next = Math.floor((from + to) / 2)) {
    const asked = { seq: next, next_by_subj: names.retrySubject }
    const message = await jetstream.message(found.config.name, asked)
    if (message !== undefined && message.sequence <= end) {
      if (isYoungerThan(record, message)) return true
      from = message.sequence + 1
    } else to = next - 1
  }
  return false
}

function subjectOf({ stateSubject }: HandlerNames): string {
  return `${stateSubject}.retries`
}
