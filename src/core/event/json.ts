import { type Fault, Faults } from '../options/faults.ts'
import { decodeBase64, encodeBase64 } from './base64.ts'
import { type ClaimedEvent, checkEvent } from './check.ts'
import { EventError, SealError } from './errors.ts'
import type { LazaretEvent } from './event.ts'
import { WIDEST_EVENT_LIMITS } from './limits.ts'
import { isBytes, isPlainObject } from './plain.ts'
import { parseStored, readVersioned } from './stored.ts'

const EVENT_VERSION = 1

/**
 * The stored form of an event. Bytes have their own field, `payloadBase64`, so that no user's payload can be mistaken for
 * encoded bytes. Versions only add fields, and readers ignore unknown ones, except for the seal: without its key, the event
 * would be read as an empty one and written back so.
 */
export interface EventJson extends Omit<LazaretEvent, 'payload'> {
  readonly payload?: unknown
  readonly payloadBase64?: string
}

export function eventToJson(event: LazaretEvent): EventJson {
  const { v, id, type, channel, key, idempotencyKey, occurredAt, expiresAt, source, headers, payload } = event
  // The literals list every field, because spreading an envelope takes as long as writing its text.
  if (!isBytes(payload)) {
    // JSON would omit the payload, and then the event could not be decoded.
    if (payload === undefined || typeof payload === 'function' || typeof payload === 'symbol')
      throw new TypeError(`JSON has no ${typeof payload}`)
    return { v, id, type, channel, key, idempotencyKey, occurredAt, expiresAt, source, headers, payload }
  }
  const payloadBase64 = encodeBase64(payload)
  return { v, id, type, channel, key, idempotencyKey, occurredAt, expiresAt, source, headers, payloadBase64 }
}

export function eventFromJson(value: unknown): LazaretEvent {
  const faults = new Faults()
  const event = readEvent(value, 'event', faults)
  if (event === undefined) throw new EventError('stored event', faults.list)
  return event
}

/**
 * Returns an event that its reader has made of stored values of its own. It throws if a value is not valid. The channel is one
 * that was checked before.
 */
export function requireEvent(event: ClaimedEvent & { readonly v: 1 }, channel: string): LazaretEvent {
  const faults = checkEvent(event, WIDEST_EVENT_LIMITS, { channel })
  if (faults.length > 0) throw new EventError('stored event', faults.map(inEvent))
  return event as LazaretEvent
}

function inEvent(fault: Fault): Fault {
  return { ...fault, path: `event.${fault.path}` }
}

/** Writes an event as JSON text. */
export function encodeEvent(event: LazaretEvent): string {
  try {
    return JSON.stringify(eventToJson(event))
  } catch (error) {
    throw unwritable(error)
  }
}

/** Writes the payload alone, for brokers that carry the envelope separately. It is not for bytes. */
export function encodePayload({ payload }: LazaretEvent): string {
  let text: string | undefined
  try {
    text = JSON.stringify(payload)
  } catch (error) {
    throw unwritable(error)
  }
  if (text === undefined) throw unwritable()
  return text
}

function unwritable(cause?: unknown): EventError {
  const remedy = 'create events with createEvent(), which checks them'
  return new EventError(
    'event',
    [{ path: 'payload', received: 'a value that JSON cannot represent', remedy }],
    cause,
  )
}

/** Reads an event from the JSON text of `encodeEvent`. It throws if the text is not an event. */
export function decodeEvent(text: string): LazaretEvent {
  return eventFromJson(parseStored(text, 'stored event'))
}

interface StoredEvent extends ClaimedEvent {
  readonly payloadBase64?: unknown
  readonly sealed?: unknown
}

/** Reads a stored event. It returns undefined and reports faults under `path` if the event is not valid. It throws if the event is sealed. */
export function readEvent(value: unknown, path: string, faults: Faults): LazaretEvent | undefined {
  const stored: StoredEvent | undefined = readVersioned(value, EVENT_VERSION, path, faults)
  if (stored === undefined) return undefined
  if (stored.sealed !== undefined) throw sealedError(stored)
  const before = faults.list.length
  const event = {
    v: EVENT_VERSION,
    id: stored.id,
    type: stored.type,
    channel: stored.channel,
    key: stored.key,
    idempotencyKey: stored.idempotencyKey,
    occurredAt: stored.occurredAt,
    expiresAt: stored.expiresAt,
    source: stored.source,
    headers: isPlainObject(stored.headers) ? { ...stored.headers } : stored.headers,
    payload: readPayload(stored, path, faults),
  }
  for (const fault of checkEvent(event, WIDEST_EVENT_LIMITS)) {
    faults.list.push({ ...fault, path: `${path}.${fault.path}` })
  }
  return faults.list.length === before ? (event as LazaretEvent) : undefined
}

/** `1.k1.…` was sealed with the key `k1`. */
function sealedError({ id, sealed }: StoredEvent): SealError {
  const [, key = ''] = String(sealed).split('.', 2)
  return new SealError(
    `event ${id}`,
    `is sealed with key '${key}', and no key is given; give createSealing() as the codec, or set sealing in the config`,
  )
}

function readPayload(stored: StoredEvent, path: string, faults: Faults): unknown {
  if (!Object.hasOwn(stored, 'payloadBase64')) return stored.payload
  const text = stored.payloadBase64
  const bytes = typeof text === 'string' ? decodeBase64(text) : undefined
  if (bytes === undefined) faults.add(`${path}.payloadBase64`, text, 'give base64 with its padding')
  return bytes ?? null
}
