import type { Origin } from '../../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import {
  HEADER_NAME,
  MAX_HEADER_NAME_BYTES,
  MAX_ID_BYTES,
  MAX_TYPE_BYTES,
} from '../../../../core/event/limits.ts'
import { cleanTextBytes } from '../../../../core/event/text.ts'
import { hash128 } from '../../../../core/hash.ts'
import type { AmqpHeaders, AmqpMessage } from '../../connection/amqp.ts'
import { isReserved, OWN, textOf } from './headers.ts'

const UNNAMED = 'message'

/**
 * What another program sent, as well as it can be told. Without a message id its identity is made of all it says, so
 * that it is the same each time it is handed over; two that say exactly the same are one then.
 */
export function foreignEvent(message: AmqpMessage, channel: string, origin: Origin): LazaretEvent {
  const { properties } = message
  const headers = properties.headers ?? {}
  const id = fitting(properties.messageId, MAX_ID_BYTES) ?? `amqp-${hash128(identity(message, origin))}`
  return {
    v: 1,
    id,
    type: fitting(properties.type, MAX_TYPE_BYTES) ?? fitting(origin.routingKey, MAX_TYPE_BYTES) ?? UNNAMED,
    channel,
    key: textOf(headers[OWN.key]) || undefined,
    idempotencyKey: textOf(headers['x-idempotency-key']) || id,
    occurredAt: properties.timestamp === undefined ? 0 : Math.max(0, properties.timestamp * 1_000),
    expiresAt: undefined,
    source: undefined,
    headers: headersOf(headers),
    payload: payloadOf(message),
  }
}

/** Content that says it is JSON and is not, is undecodable; everything else is a payload of some kind. */
export function payloadOf({ content, properties: { contentType, contentEncoding } }: AmqpMessage): unknown {
  const isPacked = contentEncoding !== undefined && !/^(?:utf-?8|identity|)$/i.test(contentEncoding)
  if (isPacked) return new Uint8Array(content)
  if (contentType === undefined || contentType === '') return jsonOrBytes(content)
  if (/^application\/(?:[\w.-]+\+)?json\b/i.test(contentType)) return readJson(content)
  if (/^text\//i.test(contentType)) return textOrBytes(content)
  return new Uint8Array(content)
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function readJson(content: Buffer): unknown {
  return JSON.parse(UTF8.decode(content))
}

function jsonOrBytes(content: Buffer): unknown {
  try {
    return readJson(content)
  } catch {
    return new Uint8Array(content)
  }
}

function textOrBytes(content: Buffer): unknown {
  try {
    return UTF8.decode(content)
  } catch {
    return new Uint8Array(content)
  }
}

/** Those of the event itself, as texts; neither ours nor the server's. */
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
