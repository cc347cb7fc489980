import { checkedEvent, readContent, readJson, undecodable } from '../../../../adapter-kit/wire/content.ts'
import type { Origin } from '../../../../core/dead-letter/letter.ts'
import { fromCloudEvent } from '../../../../core/event/cloudevents.ts'
import { fromAttributes } from '../../../../core/event/cloudevents-binary.ts'
import { CORRELATION_HEADER } from '../../../../core/event/correlation.ts'
import { correlationIdOf } from '../../../../core/event/correlation-id.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import { withExactData, withExactNumbers } from '../../../../core/event/exact-numbers.ts'
import { encodePayload } from '../../../../core/event/json.ts'
import {
  HEADER_NAME,
  MAX_HEADER_NAME_BYTES,
  MAX_ID_BYTES,
  MAX_TYPE_BYTES,
  WIDEST_EVENT_LIMITS,
} from '../../../../core/event/limits.ts'
import { parseJson } from '../../../../core/event/parse-json.ts'
import { isBytes, isPlainObject } from '../../../../core/event/plain.ts'
import { cleanTextBytes } from '../../../../core/event/text.ts'
import { uuidv7Time } from '../../../../core/event/uuid.ts'
import { hash128 } from '../../../../core/hash.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import type { AmqpHeaders, AmqpMessage, AmqpProperties } from '../../connection/amqp.ts'
import type { Route } from '../../options.ts'
import { APP_ID, checkHeaderBytes, isReserved, OWN, textOf, timeOf, timeText } from './headers.ts'

/** A message as it is published. */
export interface Outgoing {
  readonly route: Route
  readonly content: Buffer
  readonly properties: AmqpProperties
}

const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'
const PERSISTENT = 2

/** A short string of AMQP has a length of one byte. */
const MAX_SHORT_TEXT_BYTES = 255

/**
 * The payload is the body and the envelope is in properties and headers, so that programs in any language can read
 * the message and write one like it. A header costs the server and the client more than all properties together, so that
 * what is told otherwise has none: the channel by the exchange, the time by the id, the idempotency key by being the id.
 */
export function encodeEvent(event: LazaretEvent, exchange: string): Omit<Outgoing, 'route'> {
  const headers: Record<string, unknown> = {}
  let packed: Record<string, string> | undefined
  for (const [name, value] of Object.entries(event.headers)) {
    if (isReserved(name)) {
      packed ??= {}
      packed[name] = value
    } else headers[name] = value
  }
  if (exchange !== event.channel) headers[OWN.channel] = event.channel
  if (uuidv7Time(event.id) !== event.occurredAt) headers[OWN.occurredAt] = timeText(event.occurredAt)
  if (event.idempotencyKey !== event.id) headers[OWN.idempotencyKey] = event.idempotencyKey
  if (event.key !== undefined) headers[OWN.key] = event.key
  if (event.expiresAt !== undefined) headers[OWN.expiresAt] = timeText(event.expiresAt)
  if (event.source !== undefined) headers[OWN.source] = event.source
  if (packed !== undefined) headers[OWN.packed] = JSON.stringify(packed)
  const hasHeaders = checkHeaderBytes(headers) > 0
  const bytes = isBytes(event.payload)
  return {
    content: bytes ? Buffer.from(event.payload as Uint8Array) : Buffer.from(encodePayload(event)),
    properties: {
      messageId: event.id,
      type: event.type,
      contentType: bytes ? BYTES_TYPE : JSON_TYPE,
      deliveryMode: PERSISTENT,
      appId: APP_ID,
      timestamp: Math.floor(event.occurredAt / 1_000),
      correlationId: fitting(correlationIdOf(event), MAX_SHORT_TEXT_BYTES),
      headers: hasHeaders ? headers : undefined,
    },
  }
}

/** The event of a message, no matter which program sent it, or the whole message with its fault. */
export function decode(message: AmqpMessage, channel: string, origin: Origin): LazaretEvent | Undecodable {
  try {
    return checkedEvent(read(message, channel, origin))
  } catch (error) {
    const { messageId, headers = {} } = message.properties
    return { ...undecodable(message.content, error), messageId, headers: headersOf(headers) }
  }
}

function read(message: AmqpMessage, channel: string, origin: Origin): LazaretEvent {
  const { properties, content } = message
  if (properties.appId === APP_ID) return ownEvent(message, channel)
  const occurredAt = (properties.timestamp ?? 0) * 1_000
  const defaults = { channel, occurredAt, limits: WIDEST_EVENT_LIMITS }
  if (properties.contentType?.startsWith('application/cloudevents+json'))
    return withExactData(fromCloudEvent(readJson(content), defaults), content)
  const { headers = {} } = properties
  if (!isBinaryCloudEvent(headers)) return foreignEvent(message, channel, origin)
  const { attributes, others } = splitHeaders(headers)
  const contentType = isCompressed(properties) ? BYTES_TYPE : properties.contentType
  const event = fromAttributes(attributes, contentType, content, defaults)
  return withExactNumbers({ ...event, headers: { ...headersOf(others), ...event.headers } }, content)
}

/** The AMQP binding writes the prefix of attributes with a colon, and with an underscore for JMS. */
const CLOUD_EVENT_HEADER = /^cloudEvents[:_](.+)$/

function isBinaryCloudEvent(headers: AmqpHeaders): boolean {
  return (
    Object.hasOwn(headers, 'cloudEvents:specversion') || Object.hasOwn(headers, 'cloudEvents_specversion')
  )
}

/** Separates the attributes of a CloudEvent in binary mode from the other headers of its message. */
function splitHeaders(headers: AmqpHeaders): {
  readonly attributes: ReadonlyMap<string, unknown>
  readonly others: AmqpHeaders
} {
  const attributes = new Map<string, unknown>()
  const others: [string, unknown][] = []
  for (const [name, value] of Object.entries(headers)) {
    const attribute = CLOUD_EVENT_HEADER.exec(name)?.[1]
    if (attribute === undefined) others.push([name, value])
    else attributes.set(attribute, textOf(value) ?? value)
  }
  return { attributes, others: Object.fromEntries(others) }
}

function ownEvent({ properties, content }: AmqpMessage, channel: string): LazaretEvent {
  const headers = properties.headers ?? {}
  const id = properties.messageId as string
  const packed = textOf(headers[OWN.packed])
  return {
    v: 1,
    id,
    type: properties.type as string,
    channel: textOf(headers[OWN.channel]) ?? channel,
    key: textOf(headers[OWN.key]),
    idempotencyKey: textOf(headers[OWN.idempotencyKey]) ?? id,
    occurredAt: (timeOf(headers[OWN.occurredAt]) ?? uuidv7Time(id)) as number,
    expiresAt: timeOf(headers[OWN.expiresAt]),
    source: textOf(headers[OWN.source]),
    headers: { ...headersOf(headers), ...(packed === undefined ? undefined : unpacked(packed)) },
    payload: properties.contentType === BYTES_TYPE ? new Uint8Array(content) : readJson(content),
  }
}

function unpacked(text: string): Record<string, string> {
  const value = parseJson(text)
  return isPlainObject(value) ? (value as Record<string, string>) : {}
}

const UNNAMED = 'message'

/**
 * Reads a message of another program as well as possible. Without a message id its identity is made of its whole content,
 * so that each delivery has the same id. Two equal messages are then one event.
 */
function foreignEvent(message: AmqpMessage, channel: string, origin: Origin): LazaretEvent {
  const { content, properties } = message
  const headers = properties.headers ?? {}
  const { payload, text } = contentOf(message)
  const id = fitting(properties.messageId, MAX_ID_BYTES) ?? `amqp-${hash128(identity(message, origin))}`
  const event: LazaretEvent = {
    v: 1,
    id,
    type: fitting(properties.type, MAX_TYPE_BYTES) ?? fitting(origin.routingKey, MAX_TYPE_BYTES) ?? UNNAMED,
    channel,
    key: textOf(headers[OWN.key]) || undefined,
    idempotencyKey: textOf(headers['x-idempotency-key']) || id,
    occurredAt: properties.timestamp === undefined ? 0 : Math.max(0, properties.timestamp * 1_000),
    expiresAt: undefined,
    source: undefined,
    headers: withCorrelation(headersOf(headers), properties.correlationId),
    payload,
  }
  return withExactNumbers(event, content, text)
}

/** Other programs have a property for the correlation id, and events a header. */
function withCorrelation(headers: Record<string, string>, id: string | undefined): Record<string, string> {
  const text = fitting(id, MAX_SHORT_TEXT_BYTES)
  return text === undefined ? headers : { [CORRELATION_HEADER]: text, ...headers }
}

/** Compressed content is kept as it is. */
export function contentOf({ content, properties }: AmqpMessage): ReturnType<typeof readContent> {
  return readContent(content, isCompressed(properties) ? BYTES_TYPE : properties.contentType)
}

function isCompressed({ contentEncoding }: AmqpProperties): boolean {
  return contentEncoding !== undefined && !/^(?:utf-?8|identity|)$/i.test(contentEncoding)
}

/** The headers of the event itself as texts, without those of Lazaret and of the server. */
export function headersOf(headers: AmqpHeaders): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (isReserved(name) || name === '__proto__') continue
    if (name.length > MAX_HEADER_NAME_BYTES || !HEADER_NAME.test(name)) continue
    const text = typeof value === 'string' ? value : asText(value)
    if (!text.includes('\0') && text.isWellFormed()) texts[name] = text
  }
  return texts
}

function asText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'object') return String(value)
  return textOf(value) ?? JSON.stringify(value)
}

export function fitting(value: string | undefined, maxBytes: number): string | undefined {
  if (value === undefined || value === '') return undefined
  const bytes = cleanTextBytes(value)
  return bytes !== undefined && bytes <= maxBytes ? value : undefined
}

function identity({ content, properties }: AmqpMessage, origin: Origin): string {
  const { type, timestamp, correlationId, headers = {} } = properties
  const said = Object.entries(headers).filter(([name]) => !isReserved(name))
  return JSON.stringify([
    origin.exchange,
    origin.routingKey,
    type,
    timestamp,
    correlationId,
    said,
    content.toString('latin1'),
  ])
}
