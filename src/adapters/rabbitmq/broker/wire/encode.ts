import type { LazaretEvent } from '../../../../core/event/event.ts'
import { encodePayload } from '../../../../core/event/json.ts'
import { isBytes } from '../../../../core/event/plain.ts'
import { uuidv7Time } from '../../../../core/event/uuid.ts'
import type { AmqpProperties } from '../../connection/amqp.ts'
import { checkHeaderBytes, isReserved, OWN, timeText } from './headers.ts'

/** A message as it is published. */
export interface Encoded {
  readonly content: Buffer
  readonly properties: AmqpProperties
}

const JSON_TYPE = 'application/json'
export const BYTES_TYPE = 'application/octet-stream'
/** Who wrote the message, and how: an event in version 1. */
export const APP_ID = 'lazaret/1'
const PERSISTENT = 2

/**
 * The payload is the body and the envelope is in properties and headers, so that programs in any language can read
 * the message and write one like it. A header costs the server and the client more than all properties together, so that
 * what is told otherwise has none: the channel by the exchange, the time by the id, the idempotency key by being the id.
 */
export function encodeEvent(event: LazaretEvent, exchange: string): Encoded {
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
      headers: hasHeaders ? headers : undefined,
    },
  }
}
