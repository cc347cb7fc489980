import { isChannelName, MAX_CHANNEL_BYTES } from '../event/channel.ts'
import { checkEvent } from '../event/check.ts'
import type { JsonValue, LazaretEvent } from '../event/event.ts'
import {
  MAX_ID_BYTES,
  MAX_IDEMPOTENCY_KEY_BYTES,
  MAX_KEY_BYTES,
  MAX_TYPE_BYTES,
  WIDEST_EVENT_LIMITS,
} from '../event/limits.ts'
import { isBytes } from '../event/plain.ts'
import { bounded, isInstance, namesOf, property } from '../failure/thrown.ts'
import { hash128 } from '../hash.ts'
import { displayForm } from './display-form.ts'
import type { DeadLetter } from './letter.ts'

/** The key in a letter's detail for the reason why its event cannot be replayed as it is stored. */
const NOT_REPLAYABLE = 'notReplayable'

/** A valid event. The check reports faults of the added fields only. */
const PROBE = {
  id: 'x',
  type: 'x',
  channel: 'x',
  idempotencyKey: 'x',
  occurredAt: 0,
  headers: {},
  payload: null,
}

interface StorableEvent {
  /** An event that every store can write and read back. */
  readonly event: LazaretEvent
  /** Names the parts that were changed or lost; undefined if the event was kept whole. */
  readonly lost: string | undefined
}

/**
 * Makes an event that every store can keep. Foreign clients may pass any payload, and a payload that JSON cannot write (a
 * BigInt, a cycle, a toJSON that throws) would prevent its letter forever. So the letter keeps the JSON form of the
 * payload, or else its display form.
 */
export function storableEvent(event: LazaretEvent): StorableEvent {
  if (faultsOf(event).length === 0) return { event, lost: undefined }
  return repaired(checkedChannel(event))
}

/** The letter keeps the original channel, and a replay uses that one. */
function checkedChannel(event: LazaretEvent): LazaretEvent {
  const given: unknown = event.channel
  if (isChannelName(given)) return event
  const channel = (typeof given === 'string' ? given : '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .slice(0, MAX_CHANNEL_BYTES)
    .replace(/^-+|-+$/g, '')
  return { ...event, channel: channel || 'unknown' }
}

function repaired(event: LazaretEvent): StorableEvent {
  if (faultsOf(event).length === 0) return { event, lost: undefined }
  const json = asJson(event.payload)
  const written = json === undefined ? event : { ...event, payload: json.value }
  // JSON writes dates and instances as plain data. Stores have always kept that form.
  if (json !== undefined && faultsOf(written).length === 0) return { event: written, lost: undefined }
  const lost = faultsOf(event)
    .slice(0, 3)
    // The value is left out, because a plan shows this text to people who may not see payloads.
    .map(({ path, remedy }) => `${path}: ${remedy}`)
    .join('; ')
  const kept = withCleanEnvelope({ ...event, payload: json?.value ?? displayForm(event.payload) })
  if (faultsOf(kept).length === 0) return { event: kept, lost }
  return { event: { ...kept, payload: displayForm(event.payload) }, lost }
}

function faultsOf(event: LazaretEvent) {
  return checkEvent(event, WIDEST_EVENT_LIMITS)
}

/** The payload as a store would read it back; undefined if JSON cannot write it. */
function asJson(payload: unknown): { readonly value: JsonValue } | undefined {
  try {
    return payload === undefined ? { value: null } : { value: JSON.parse(JSON.stringify(payload, writable)) }
  } catch {
    return undefined
  }
}

/** JSON would write a Map and a Set as an empty object, and bytes as an object with a property for each. */
function writable(_: string, value: unknown): unknown {
  if (isInstance(value, Map)) {
    const entries = [...value]
    return entries.every(([key]) => typeof key === 'string') ? Object.fromEntries(entries) : entries
  }
  if (isInstance(value, Set)) return [...value]
  const bytes = bytesOf(value)
  return bytes === undefined ? value : { type: 'Buffer', data: [...bytes] }
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (isBytes(value)) return value
  if (isInstance(value, DataView)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return isInstance(value, ArrayBuffer) ? new Uint8Array(value) : undefined
}

function withCleanEnvelope(event: LazaretEvent): LazaretEvent {
  const { key, expiresAt, source } = event
  const without = checkEvent({ ...event, payload: null }, WIDEST_EVENT_LIMITS)
  const isWrong = (field: string) =>
    without.some(({ path }) => path === field || path.startsWith(`${field}.`))
  const clean = (field: string, text: unknown, max: number) =>
    isWrong(field) ? cleanText(text, max) : (text as string)
  const id = clean('id', event.id, MAX_ID_BYTES)
  return {
    ...event,
    id,
    type: clean('type', event.type, MAX_TYPE_BYTES),
    key: key === undefined ? undefined : clean('key', key, MAX_KEY_BYTES),
    idempotencyKey:
      event.idempotencyKey === event.id
        ? id
        : clean('idempotencyKey', event.idempotencyKey, MAX_IDEMPOTENCY_KEY_BYTES),
    occurredAt: isWrong('occurredAt') ? 0 : event.occurredAt,
    expiresAt: isWrong('expiresAt') ? undefined : expiresAt,
    source: isWrong('source') ? undefined : source,
    headers: isWrong('headers') ? cleanHeaders(event.headers) : event.headers,
  }
}

/** Repairs a text. A changed text ends with a hash, so that two long texts with the same beginning stay different. */
function cleanText(value: unknown, maxBytes: number): string {
  const text = typeof value === 'string' && value !== '' ? value : 'unknown'
  const printable = text.toWellFormed().replace(/[^\x20-\x7e]/g, '?')
  return printable === text && text.length <= maxBytes
    ? text
    : `${printable.slice(0, Math.min(maxBytes, 200) - 33)}~${hash128(text)}`
}

/** Keeps the headers that every store accepts. */
function cleanHeaders(headers: unknown): Readonly<Record<string, string>> {
  const kept: [string, string][] = []
  for (const name of namesOf(headers).slice(0, WIDEST_EVENT_LIMITS.maxHeaders)) {
    const value = property(headers, name)
    if (typeof value !== 'string') continue
    const header = { [name]: bounded(value, 1_000) }
    const probe = checkEvent({ ...PROBE, headers: header }, WIDEST_EVENT_LIMITS)
    if (probe.length === 0) kept.push([name, header[name]!])
  }
  return Object.fromEntries(kept)
}

/** Adds to a letter's detail which part of its event was not kept. */
export function detailWith(detail: DeadLetter['detail'], lost: string | undefined): DeadLetter['detail'] {
  return lost === undefined ? detail : { ...detail, [NOT_REPLAYABLE]: bounded(lost, 500) }
}

/** The reason why the stored event cannot be replayed; undefined if it can. */
export function notReplayable({ detail }: Pick<DeadLetter, 'detail'>): string | undefined {
  const why = detail?.[NOT_REPLAYABLE]
  return typeof why === 'string' ? why : undefined
}
