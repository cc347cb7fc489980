import type { LazaretEvent } from '../../../core/event/event.ts'
import { encodeEvent as toText } from '../../../core/event/json.ts'
import { isBytes } from '../../../core/event/plain.ts'
import type { AmqpProperties } from '../amqp.ts'
import { checkHeaderBytes, isReserved, OWN, timeText } from './headers.ts'

/** A message as it is published. */
export interface Encoded {
  readonly content: Buffer
  readonly properties: AmqpProperties
}

export const JSON_TYPE = 'application/json'
export const BYTES_TYPE = 'application/octet-stream'
const PERSISTENT = 2

/**
 * The payload is the body and the envelope is in properties and headers, so that programs in any language can read
 * the message and write one like it.
 */
export function encodeEvent(event: LazaretEvent): Encoded {
  const headers: Record<string, unknown> = {}
  let packed: Record<string, string> | undefined
  for (const [name, value] of Object.entries(event.headers)) {
    if (isReserved(name)) {
      packed ??= {}
      packed[name] = value
    } else headers[name] = value
  }
  headers[OWN.version] = event.v
  headers[OWN.channel] = event.channel
  headers[OWN.occurredAt] = timeText(event.occurredAt)
  if (event.idempotencyKey !== event.id) headers[OWN.idempotencyKey] = event.idempotencyKey
  if (event.key !== undefined) headers[OWN.key] = event.key
  if (event.expiresAt !== undefined) headers[OWN.expiresAt] = timeText(event.expiresAt)
  if (event.source !== undefined) headers[OWN.source] = event.source
  if (packed !== undefined) headers[OWN.packed] = JSON.stringify(packed)
  checkHeaderBytes(headers)
  const bytes = isBytes(event.payload)
  return {
    content: bytes ? Buffer.from(event.payload as Uint8Array) : Buffer.from(jsonOf(event)),
    properties: {
      messageId: event.id,
      type: event.type,
      contentType: bytes ? BYTES_TYPE : JSON_TYPE,
      deliveryMode: PERSISTENT,
      headers,
    },
  }
}

function jsonOf(event: LazaretEvent): string {
  try {
    const text = JSON.stringify(event.payload)
    if (text !== undefined) return text
  } catch {
    // Told in the words of the event below.
  }
  return toText(event)
}
