import { checkedEvent, readJson, readPayload, undecodable } from '../../../../adapter-kit/wire/content.ts'
import { TimeTextReader } from '../../../../adapter-kit/wire/time-text.ts'
import type { Origin } from '../../../../core/dead-letter/letter.ts'
import { timeText } from '../../../../core/event/attributes.ts'
import { fromCloudEvent } from '../../../../core/event/cloudevents.ts'
import { fromAttributes } from '../../../../core/event/cloudevents-binary.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import { withExactData, withExactNumbers } from '../../../../core/event/exact-numbers.ts'
import { encodePayload } from '../../../../core/event/json.ts'
import {
  HEADER_NAME,
  MAX_HEADER_NAME_BYTES,
  MAX_KEY_BYTES,
  WIDEST_EVENT_LIMITS,
} from '../../../../core/event/limits.ts'
import { parseJson } from '../../../../core/event/parse-json.ts'
import { isBytes, isPlainObject } from '../../../../core/event/plain.ts'
import { sourceAndId } from '../../../../core/event/source-and-id.ts'
import { cleanTextBytes } from '../../../../core/event/text.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import type { RecordHeaders } from '../../connection/records.ts'
import {
  CLOUD_EVENT_PREFIX,
  CONTENT_TYPE,
  HeaderTexts,
  header,
  headerText,
  isOfLazaret,
  isReserved,
  OWN,
} from './headers.ts'

/** The parts of a record that an event is written to and read from. */
export interface EventRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

/** What an event has and a CloudEvent in binary mode has no attribute for. Absent fields have their usual value. */
interface OwnFields {
  readonly v: 1
  /** The channel, if the topic has another name. */
  readonly channel?: string
  readonly idempotencyKey?: string
  readonly expiresAt?: number
  /** CloudEvents require a source; the event has none. */
  readonly hasNoSource?: true
  /** Headers whose names Kafka programs would take for something else. */
  readonly headers?: Record<string, string>
}

/** `id`, `type`, `source`, `time` and `specversion`. */
const PLAIN_ATTRIBUTES = 5
const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'
const SPEC_VERSION = header('ce_specversion', '1.0')
const IS_JSON = header(CONTENT_TYPE, JSON_TYPE)
const IS_BYTES = header(CONTENT_TYPE, BYTES_TYPE)
const PLAIN_FIELDS: OwnFields = { v: 1 }
const PLAIN_TEXT = JSON.stringify(PLAIN_FIELDS)
const PLAIN_OWN = header(OWN.event, PLAIN_TEXT)

/**
 * The payload is the value and the envelope is a CloudEvent in binary mode, so that programs in any language can read the
 * message and write one like it. The key of the event is the key of the record and decides its partition.
 */
export function encodeEvent(event: LazaretEvent, topic: string): EventRecord {
  const { id, type, channel, key, idempotencyKey, occurredAt, expiresAt, source, payload } = event
  const headers = [
    SPEC_VERSION,
    header('ce_id', id),
    header('ce_type', type),
    header('ce_source', source ?? `/lazaret/${channel}`),
    header('ce_time', timeText(occurredAt)),
    isBytes(payload) ? IS_BYTES : IS_JSON,
  ]
  let packed: Record<string, string> | undefined
  for (const [name, value] of Object.entries(event.headers)) {
    if (isReserved(name)) {
      packed ??= {}
      packed[name] = value
    } else headers.push(header(name, value))
  }
  const own: OwnFields = {
    v: 1,
    ...(channel === topic ? undefined : { channel }),
    ...(idempotencyKey === id ? undefined : { idempotencyKey }),
    ...(expiresAt === undefined ? undefined : { expiresAt }),
    ...(source === undefined ? { hasNoSource: true as const } : undefined),
    ...(packed === undefined ? undefined : { headers: packed }),
  }
  const isPlain = Object.keys(own).length === 1
  headers.push(isPlain ? PLAIN_OWN : header(OWN.event, JSON.stringify(own)))
  return {
    key: key === undefined ? null : Buffer.from(key),
    value: isBytes(payload) ? Buffer.from(payload) : Buffer.from(encodePayload(event)),
    headers,
  }
}

/** The event of a record, no matter which program wrote it, or all its bytes and headers with the fault. */
export function decode(
  record: EventRecord,
  channel: string,
  origin: Origin,
  texts = new HeaderTexts(record),
): LazaretEvent | Undecodable {
  try {
    return checkedEvent(read(record, texts, channel, origin))
  } catch (error) {
    // The attributes of a CloudEvent tell where the record is from, although it is not an event.
    return { ...undecodable(record.value ?? NOTHING, error), headers: headersOf(texts, isOfLazaret) }
  }
}

const NOTHING = Buffer.alloc(0)
const TIMES = new TimeTextReader()

function read(record: EventRecord, texts: HeaderTexts, channel: string, origin: Origin): LazaretEvent {
  const own = texts.get(OWN.event)
  if (own !== undefined)
    return ownEvent(record, texts, own === PLAIN_TEXT ? PLAIN_FIELDS : (parseJson(own) as OwnFields), channel)
  const contentType = texts.contentType
  const occurredAt = Math.max(0, Number(origin['timestamp'] ?? 0))
  const defaults = { channel, occurredAt, limits: WIDEST_EVENT_LIMITS }
  const value = record.value ?? NOTHING
  if (contentType?.startsWith('application/cloudevents+json'))
    return withKey(withExactData(fromCloudEvent(readJson(value), defaults), value), record)
  if (texts.get('ce_specversion') !== undefined) {
    const plain = plainCloudEvent(record, texts, channel)
    if (plain !== undefined) return withExactNumbers(plain, value)
    const event = fromAttributes(attributesOf(texts), contentType, value, defaults)
    const whole = withKey({ ...event, headers: { ...headersOf(texts), ...event.headers } }, record)
    return withExactNumbers(whole, value)
  }
  return withExactNumbers(foreignEvent(record, texts, channel, origin, occurredAt), value)
}

function ownEvent(
  { key, value }: EventRecord,
  texts: HeaderTexts,
  own: Partial<OwnFields>,
  channel: string,
): LazaretEvent {
  const id = texts.get('ce_id') as string
  const time = texts.get('ce_time') ?? ''
  const body = value ?? NOTHING
  return {
    v: 1,
    id,
    type: texts.get('ce_type') as string,
    channel: own.channel ?? channel,
    key: key === null ? undefined : key.toString('utf8'),
    idempotencyKey: own.idempotencyKey ?? id,
    occurredAt: TIMES.read(time) ?? Date.parse(time),
    expiresAt: own.expiresAt,
    source: own.hasNoSource === true ? undefined : texts.get('ce_source'),
    headers: { ...headersOf(texts), ...(isPlainObject(own.headers) ? own.headers : undefined) },
    payload: texts.contentType === BYTES_TYPE ? new Uint8Array(body) : readJson(body),
  }
}

/**
 * Most CloudEvents in Kafka have the same five attributes and JSON. They are read here, because the way of all others costs
 * several times as much. Undefined for the others, and for one that could be wrong.
 */
function plainCloudEvent(
  { key, value }: EventRecord,
  texts: HeaderTexts,
  channel: string,
): LazaretEvent | undefined {
  const id = texts.get('ce_id')
  const type = texts.get('ce_type')
  const source = texts.get('ce_source')
  const time = texts.get('ce_time')
  const isComplete = id !== undefined && type !== undefined && source !== undefined && time !== undefined
  if (!isComplete || value === null || value.length === 0) return undefined
  if (texts.get('ce_specversion') !== '1.0' || texts.contentType !== JSON_TYPE) return undefined
  let attributes = 0
  for (const name of texts.names) if (name.startsWith(CLOUD_EVENT_PREFIX)) attributes++
  // A time in another form is kept as it was written.
  const occurredAt = TIMES.read(time)
  if (attributes > PLAIN_ATTRIBUTES || occurredAt === undefined) return undefined
  return {
    v: 1,
    id,
    type,
    channel,
    key: keyText(key),
    idempotencyKey: sourceAndId(source, id),
    occurredAt,
    expiresAt: undefined,
    source,
    headers: headersOf(texts),
    payload: readJson(value),
  }
}

function attributesOf(texts: HeaderTexts): ReadonlyMap<string, unknown> {
  const attributes = new Map<string, unknown>()
  for (const name of texts.names)
    if (name.startsWith(CLOUD_EVENT_PREFIX))
      attributes.set(name.slice(CLOUD_EVENT_PREFIX.length), texts.get(name))
  return attributes
}

function withKey(event: LazaretEvent, { key }: EventRecord): LazaretEvent {
  return event.key === undefined ? { ...event, key: keyText(key) } : event
}

/**
 * Reads a message of another program as well as possible. Its place in the topic and its time are its identity, which stays the
 * same when the message waits in a retry topic.
 */
function foreignEvent(
  record: EventRecord,
  texts: HeaderTexts,
  channel: string,
  origin: Origin,
  occurredAt: number,
): LazaretEvent {
  const id = placeOf(origin)
  return {
    v: 1,
    id,
    type: origin.topic ?? channel,
    channel,
    key: keyText(record.key),
    idempotencyKey: texts.get('x-idempotency-key') || id,
    occurredAt,
    expiresAt: undefined,
    source: undefined,
    headers: headersOf(texts),
    payload: record.value === null ? null : readPayload(record.value, texts.contentType),
  }
}

/** Offsets begin again when a topic is deleted and created. The time distinguishes such records. */
function placeOf({ topic, partition, offset, timestamp }: Origin): string {
  return `${topic}/${partition}/${offset}@${Math.max(0, Number(timestamp ?? 0))}`
}

/** The id of the event in a record, without reading all of it. */
export function eventIdOf(record: EventRecord, channel: string, origin: Origin): string {
  const id = headerText(record.headers, 'ce_id')
  // A record that is not a CloudEvent has its place as its id, whatever this header says.
  if (id !== undefined && headerText(record.headers, 'ce_specversion') !== undefined) return id
  const content = decode(record, channel, origin)
  return 'id' in content ? content.id : placeOf(origin)
}

/** A key that is not text cannot be shown. The record keeps its bytes, which decide its partition and its order. */
function keyText(key: Buffer | null): string | undefined {
  if (key === null || key.length === 0 || key.length > MAX_KEY_BYTES) return undefined
  const text = key.toString('utf8')
  return cleanTextBytes(text) === key.length && Buffer.from(text).equals(key) ? text : undefined
}

/** The headers of the event itself as texts. */
function headersOf(texts: HeaderTexts, isLeftOut = isReserved): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of texts.names) {
    if (isLeftOut(name) || name === '__proto__') continue
    if (name.length > MAX_HEADER_NAME_BYTES || !HEADER_NAME.test(name)) continue
    const text = texts.get(name)!
    if (!text.includes('\0') && text.isWellFormed()) headers[name] = text
  }
  return headers
}
