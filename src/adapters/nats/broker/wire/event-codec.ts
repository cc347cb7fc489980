import { checkedEvent, readJson, readPayload, undecodable } from '../../../../adapter-kit/wire/content.ts'
import type { Origin } from '../../../../core/dead-letter/letter.ts'
import { timeText } from '../../../../core/event/attributes.ts'
import { fromCloudEvent } from '../../../../core/event/cloudevents.ts'
import { escaped, fromAttributes, unescaped } from '../../../../core/event/cloudevents-binary.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import { withExactData, withExactNumbers } from '../../../../core/event/exact-numbers.ts'
import { encodePayload } from '../../../../core/event/json.ts'
import { WIDEST_EVENT_LIMITS } from '../../../../core/event/limits.ts'
import { parseJson } from '../../../../core/event/parse-json.ts'
import { isBytes, isPlainObject } from '../../../../core/event/plain.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import type { HeaderList } from '../../connection/headers.ts'
import {
  asciiJson,
  CLOUD_EVENT_PREFIX,
  CONTENT_TYPE,
  canBeOfEvent,
  isOfTransport,
  isReserved,
  OWN,
} from './headers.ts'
import type { EventMessage } from './message.ts'
import type { OwnFields } from './own-fields.ts'
import { plainEvent } from './plain-event.ts'

const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'
/** Clients cut off the spaces around a value. */
const PLAIN_VALUE = /^(?:[!-~](?:[ -~]*[!-~])?)?$/

/**
 * The payload is the data and the envelope is a CloudEvent in binary mode, so that programs in any language can read the
 * message and write one like it.
 */
export function encodeEvent(event: LazaretEvent): {
  readonly data: Uint8Array
  readonly headers: HeaderList
} {
  const { id, type, channel, key, idempotencyKey, occurredAt, expiresAt, source, payload } = event
  const headers: (readonly [string, string])[] = [
    ['ce-specversion', '1.0'],
    ['ce-id', escaped(id)],
    ['ce-type', escaped(type)],
    ['ce-source', escaped(source ?? `/lazaret/${channel}`)],
    ['ce-time', timeText(occurredAt)],
    [CONTENT_TYPE, isBytes(payload) ? BYTES_TYPE : JSON_TYPE],
  ]
  if (key !== undefined) headers.push(['ce-partitionkey', escaped(key)])
  let packed: Record<string, string> | undefined
  for (const [name, value] of Object.entries(event.headers)) {
    if (isReserved(name) || !PLAIN_VALUE.test(value)) {
      packed ??= {}
      packed[name] = value
    } else headers.push([name, value])
  }
  const own: OwnFields = {
    v: 1,
    channel,
    ...(idempotencyKey === id ? undefined : { idempotencyKey }),
    ...(expiresAt === undefined ? undefined : { expiresAt }),
    ...(source === undefined ? { hasNoSource: true as const } : undefined),
    ...(packed === undefined ? undefined : { headers: packed }),
  }
  headers.push([OWN.event, asciiJson(own)])
  return { data: isBytes(payload) ? payload : Buffer.from(encodePayload(event)), headers }
}

/** The event of a message, no matter which program wrote it, or all its bytes and headers with the fault. `channel` is a valid name. */
export function decode(message: EventMessage, channel: string, origin: Origin): LazaretEvent | Undecodable {
  try {
    return plainEvent(message, channel) ?? checkedEvent(read(message, channel, origin))
  } catch (error) {
    // The attributes of a CloudEvent tell where the message is from, although it is not an event.
    const headers = headersOf(readTexts(message.headers), isOfTransport)
    return { ...undecodable(message.data, error), headers }
  }
}

function read(message: EventMessage, channel: string, origin: Origin): LazaretEvent {
  const texts = readTexts(message.headers)
  const own = texts.get(OWN.event)
  if (own !== undefined) return ownEvent(message.data, texts, parseJson(own) as Partial<OwnFields>, channel)
  const contentType = texts.get(CONTENT_TYPE)
  const occurredAt = Math.max(0, Number(origin['timestamp'] ?? 0))
  const defaults = { channel, occurredAt, limits: WIDEST_EVENT_LIMITS }
  if (contentType?.startsWith('application/cloudevents+json'))
    return withExactData(fromCloudEvent(readJson(message.data), defaults), message.data)
  if (texts.has('ce-specversion')) {
    const event = fromAttributes(attributesOf(texts), contentType, message.data, defaults)
    return withExactNumbers({ ...event, headers: { ...headersOf(texts), ...event.headers } }, message.data)
  }
  return withExactNumbers(foreignEvent(message, texts, channel, origin, occurredAt), message.data)
}

/** Programs in Go write names of headers with capitals. */
function readTexts(headers: HeaderList): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    const isKnown = lower === CONTENT_TYPE || lower.startsWith(CLOUD_EVENT_PREFIX)
    texts.set(isKnown ? lower : name, value)
  }
  return texts
}

function ownEvent(
  data: Uint8Array,
  texts: ReadonlyMap<string, string>,
  own: Partial<OwnFields>,
  channel: string,
): LazaretEvent {
  const textOf = (name: string) => {
    const text = texts.get(name)
    return text === undefined ? undefined : unescaped(text)
  }
  const id = textOf('ce-id') as string
  return {
    v: 1,
    id,
    type: textOf('ce-type') as string,
    channel: own.channel ?? channel,
    key: textOf('ce-partitionkey'),
    idempotencyKey: own.idempotencyKey ?? id,
    occurredAt: Date.parse(texts.get('ce-time') ?? ''),
    expiresAt: own.expiresAt,
    source: own.hasNoSource === true ? undefined : textOf('ce-source'),
    headers: { ...headersOf(texts), ...(isPlainObject(own.headers) ? own.headers : undefined) },
    payload: texts.get(CONTENT_TYPE) === BYTES_TYPE ? new Uint8Array(data) : readJson(data),
  }
}

function attributesOf(texts: ReadonlyMap<string, string>): ReadonlyMap<string, unknown> {
  const attributes = new Map<string, unknown>()
  for (const [name, value] of texts)
    if (name.startsWith(CLOUD_EVENT_PREFIX))
      attributes.set(name.slice(CLOUD_EVENT_PREFIX.length), unescaped(value))
  return attributes
}

/**
 * Reads a message of another program as well as possible. Its stream, sequence and time are its identity, which stays the same
 * when the message waits for a retry. Sequences begin again when a stream is deleted and made again.
 */
function foreignEvent(
  { data, subject }: EventMessage,
  texts: ReadonlyMap<string, string>,
  channel: string,
  origin: Origin,
  occurredAt: number,
): LazaretEvent {
  const id = `${origin['stream']}/${origin.offset}@${occurredAt}`
  return {
    v: 1,
    id,
    type: String(origin['subject'] ?? subject),
    channel,
    key: undefined,
    idempotencyKey: texts.get('x-idempotency-key') || id,
    occurredAt,
    expiresAt: undefined,
    source: undefined,
    headers: headersOf(texts),
    payload: readPayload(data, texts.get(CONTENT_TYPE)),
  }
}

/** The headers of the event itself. */
function headersOf(texts: ReadonlyMap<string, string>, isLeftOut = isReserved): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, text] of texts) if (!isLeftOut(name) && canBeOfEvent(name, text)) headers[name] = text
  return headers
}
