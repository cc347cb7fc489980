import type { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import { channelName, withoutEnding } from '../../../adapter-kit/collecting/names.ts'
import { createLetter } from '../../../core/dead-letter/create.ts'
import { letterId } from '../../../core/dead-letter/identity.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import { checkEvent } from '../../../core/event/check.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import {
  MAX_ID_BYTES,
  MAX_IDEMPOTENCY_KEY_BYTES,
  MAX_TYPE_BYTES,
  WIDEST_EVENT_LIMITS,
} from '../../../core/event/limits.ts'
import { REPLAY_HEADERS, replayOf } from '../../../core/event/replay-headers.ts'
import { cleanTextBytes } from '../../../core/event/text.ts'
import { MAX_TIME_MS } from '../../../core/event/uuid.ts'
import { hash128 } from '../../../core/hash.ts'
import type { KafkaRecord } from '../connection/records.ts'
import { type Fault, isFaultHeader, readFault } from './faults.ts'
import { readLetter } from './own-letter.ts'
import { fieldsOf } from './record-forms.ts'
import { type HeaderReader, headerReader } from './record-headers.ts'

/** A record as it was read from a dead-letter topic. */
export type DeadRecord = Omit<KafkaRecord, 'bytes'>

interface CollectionContext {
  /** The collector's name. */
  readonly broker: string
  /** Original topics by dead-letter topic, where the records do not say it. */
  readonly originalTopics: Readonly<Record<string, string>>
  readonly now: number
  readonly failures: FailureCache
}

interface CollectedRecord {
  readonly letter: DeadLetter
  /** False if the record has no time. Then the time is that of the collection, and each reading gives another one. */
  readonly isTimeKnown: boolean
}

/**
 * The letter for a record in a dead-letter topic, no matter which program wrote it. Every reading of the record gives the
 * same letter, because topic, partition, offset and time of the record identify it.
 */
export function collect(record: DeadRecord, context: CollectionContext): CollectedRecord {
  const own = ownLetter(record)
  if (own === undefined) return foreignLetter(record, context)
  const origin = { ...own.origin, broker: context.broker, collectedFrom: record.topic }
  return { letter: { ...own, origin }, isTimeKnown: true }
}

/** A record that claims to be a letter of Lazaret and cannot be read counts as an ordinary record. */
function ownLetter(record: DeadRecord): DeadLetter | undefined {
  try {
    return readLetter(record)
  } catch {
    return undefined
  }
}

function foreignLetter(record: DeadRecord, context: CollectionContext): CollectedRecord {
  const headers = headerReader(record.headers)
  const fault = readFault(headers)
  const source = sourceOf(record, fault, context.originalTopics)
  const writtenAt = validTime(record.timestamp)
  const at = validTime(fault?.at) ?? writtenAt ?? context.now
  const { event, origin } = collectedEvent(record, headers, fault, source, at)
  const claimed = replayOf(event)
  const replay = claimed?.letterId === letterId(event.channel, source.handler, event) ? claimed : undefined
  const letter = createLetter({
    event,
    handler: source.handler,
    reason: 'collected',
    at,
    failure: fault && context.failures.of({ name: fault.error, message: fault.message, stack: fault.stack }),
    attemptCount: fault?.attempts ?? 0,
    origin: {
      broker: context.broker,
      brokerKind: 'kafka',
      ...(source.topic === undefined ? undefined : { topic: source.topic }),
      ...(fault?.partition === undefined ? undefined : { partition: fault.partition }),
      ...(fault?.offset === undefined ? undefined : { offset: fault.offset }),
      collectedFrom: record.topic,
      collectedPartition: record.partition,
      collectedOffset: String(record.offset),
      writtenBy: fault?.writtenBy ?? 'other',
      ...origin,
    },
    replay: replay?.attempt,
    replayId: replay?.replayId,
    // Every producer can write these headers, so the saver compares them with the stored letter.
    isUnverified: replay !== undefined,
    detail: fault?.detail,
  })
  return { letter, isTimeKnown: validTime(fault?.at) !== undefined || writtenAt !== undefined }
}

function validTime(ms: number | undefined): number | undefined {
  return ms !== undefined && Number.isSafeInteger(ms) && ms > 0 && ms <= MAX_TIME_MS ? ms : undefined
}

interface RecordSource {
  /** The topic that the record returns to; undefined if nobody says it. */
  readonly topic: string | undefined
  readonly channel: string
  readonly handler: string
}

/** The topic and the consumer that failed: from the headers, the options, or the name of the dead-letter topic. */
function sourceOf(
  { topic: foundIn }: DeadRecord,
  fault: Fault | undefined,
  originalTopics: CollectionContext['originalTopics'],
): RecordSource {
  const given = Object.hasOwn(originalTopics, foundIn) ? originalTopics[foundIn] : undefined
  const told = given ?? fault?.topic
  const byName = withoutEnding(foundIn)
  const topic = told ?? (byName === foundIn ? undefined : byName)
  const named = topic ?? foundIn
  return { topic, channel: channelName(named), handler: fault?.handler || named }
}

const UNNAMED = 'message'

function collectedEvent(
  record: DeadRecord,
  headers: HeaderReader,
  fault: Fault | undefined,
  { channel, handler, topic }: RecordSource,
  at: number,
): { readonly event: LazaretEvent; readonly origin: Origin } {
  const kept = record.headers.filter(([name]) => !isFaultHeader(name.toString('utf8'), fault?.writtenBy))
  const fields = fieldsOf(record.key, record.value, kept)
  const id = idOf(record, headers, channel, handler)
  const fitting = (name: string, bytes: number) => fittingText(headers.last(name), bytes)
  const event: LazaretEvent = {
    v: 1,
    id,
    type:
      fitting('ce_type', MAX_TYPE_BYTES) ??
      fitting('message-type', MAX_TYPE_BYTES) ??
      fitting('__TypeId__', MAX_TYPE_BYTES) ??
      fittingText(topic ?? record.topic, MAX_TYPE_BYTES) ??
      UNNAMED,
    channel,
    key: fields.key,
    idempotencyKey:
      fitting(REPLAY_HEADERS.idempotencyKey, MAX_IDEMPOTENCY_KEY_BYTES) ??
      fitting('ce_id', MAX_IDEMPOTENCY_KEY_BYTES) ??
      id,
    occurredAt: validTime(fault?.timestamp) ?? validTime(record.timestamp) ?? at,
    expiresAt: undefined,
    source: undefined,
    headers: fields.headers,
    payload: fields.payload,
  }
  if (checkEvent(event, WIDEST_EVENT_LIMITS).length === 0) return { event, origin: fields.origin }
  const stored = { ...event, key: undefined, headers: {}, payload: new Uint8Array(record.value ?? []) }
  return { event: stored, origin: { unkept: 'it is not valid for an event; send it manually' } }
}

/**
 * The id of the event. A replay brings the id that its event had in the first cycle. It counts only if the record also
 * names the letter of that id, because handlers copy headers from one record to the next.
 */
function idOf(
  { topic, partition, offset, timestamp }: DeadRecord,
  headers: HeaderReader,
  channel: string,
  handler: string,
): string {
  const original = fittingText(headers.last(REPLAY_HEADERS.originalId), MAX_ID_BYTES)
  if (original !== undefined) {
    const isOfThis = headers.last(REPLAY_HEADERS.letterId) === letterId(channel, handler, { id: original })
    if (isOfThis) return original
  }
  // Offsets begin again when a topic is deleted and created. The time distinguishes such records.
  const id = `${topic}/${partition}/${offset}@${timestamp}`
  return id.length <= MAX_ID_BYTES ? id : `kafka-${hash128(id)}`
}

function fittingText(text: string | undefined, maxBytes: number): string | undefined {
  if (text === undefined || text === '') return undefined
  const bytes = cleanTextBytes(text)
  return bytes !== undefined && bytes <= maxBytes ? text : undefined
}
