import { type Fault, Faults } from '../options/faults.ts'
import { channelRule } from './channel.ts'
import {
  DEFAULT_EVENT_LIMITS,
  type EventLimits,
  HEADER_NAME,
  MAX_HEADER_NAME_BYTES,
  MAX_ID_BYTES,
  MAX_IDEMPOTENCY_KEY_BYTES,
  MAX_KEY_BYTES,
  MAX_SOURCE_BYTES,
  MAX_TYPE_BYTES,
  URI_REFERENCE,
} from './limits.ts'
import { checkPayload } from './payload.ts'
import { isPlainObject } from './plain.ts'
import { cleanTextBytes, textBytes } from './text.ts'
import { MAX_TIME_MS } from './uuid.ts'

/** A possible event. Its fields are not checked yet. */
export interface ClaimedEvent {
  readonly id?: unknown
  readonly type?: unknown
  readonly channel?: unknown
  readonly key?: unknown
  readonly idempotencyKey?: unknown
  readonly occurredAt?: unknown
  readonly expiresAt?: unknown
  readonly source?: unknown
  readonly headers?: unknown
  readonly payload?: unknown
}

interface CheckedParts {
  readonly channel?: string | undefined
  readonly headers?: object | undefined
}

/** Returns all faults of an event together. It never throws, whatever the event contains. */
export function checkEvent(
  event: ClaimedEvent,
  limits: EventLimits = DEFAULT_EVENT_LIMITS,
  /** A channel and headers that were checked before. */
  trusted?: CheckedParts | undefined,
): readonly Fault[] {
  const faults = new Faults()
  try {
    checkEnvelope(event, trusted?.channel, faults)
    if (event.headers !== trusted?.headers) checkHeaders(event.headers, limits, faults)
    checkPayload(event.payload, limits, faults)
  } catch {
    faults.add('event', event, 'give plain data; a getter or proxy threw')
  }
  return faults.list
}

function checkEnvelope(event: ClaimedEvent, checkedChannel: string | undefined, faults: Faults): void {
  checkText('id', event.id, MAX_ID_BYTES, faults)
  checkText('type', event.type, MAX_TYPE_BYTES, faults)
  if (checkedChannel === undefined || event.channel !== checkedChannel)
    channelRule.read(event.channel, 'channel', faults)
  if (event.key !== undefined) checkText('key', event.key, MAX_KEY_BYTES, faults)
  if (event.idempotencyKey !== event.id)
    checkText('idempotencyKey', event.idempotencyKey, MAX_IDEMPOTENCY_KEY_BYTES, faults)
  checkTime('occurredAt', event.occurredAt, faults)
  if (event.expiresAt !== undefined) checkTime('expiresAt', event.expiresAt, faults)
  if (event.source !== undefined) checkSource(event.source, faults)
}

/** Most names and ids match this. Each character is one byte and needs no further check. */
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/

function checkText(name: string, value: unknown, maxBytes: number, faults: Faults): void {
  if (typeof value === 'string' && value.length > 0 && value.length <= maxBytes) {
    if (PRINTABLE_ASCII.test(value)) return
    const bytes = cleanTextBytes(value)
    if (bytes !== undefined && bytes <= maxBytes) return
  }
  faults.add(name, value, `give a string of 1 to ${maxBytes} UTF-8 bytes without control characters`)
}

function checkSource(value: unknown, faults: Faults): void {
  if (typeof value === 'string' && value.length <= MAX_SOURCE_BYTES && URI_REFERENCE.test(value)) return
  faults.add(
    'source',
    value,
    `give a URI reference of 1 to ${MAX_SOURCE_BYTES} bytes, such as '/shop/checkout'`,
  )
}

function checkTime(name: string, value: unknown, faults: Faults): void {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TIME_MS) return
  faults.add(name, value, 'give whole epoch milliseconds, from 1970 to 9999')
}

function checkHeaders(headers: unknown, limits: EventLimits, faults: Faults): void {
  if (!isPlainObject(headers)) {
    faults.add('headers', headers, 'give a plain object of strings')
    return
  }
  const names = Object.keys(headers)
  if (names.length > limits.maxHeaders) {
    faults.list.push({
      path: 'headers',
      received: `${names.length} headers`,
      remedy: `give at most ${limits.maxHeaders}`,
    })
    return
  }
  let bytes = 0
  for (const name of names) bytes += checkHeader(name, headers[name], limits, faults)
  if (bytes > limits.maxHeaderBytes) {
    const remedy = `keep names and values within ${limits.maxHeaderBytes} bytes`
    faults.list.push({ path: 'headers', received: `at least ${bytes} bytes`, remedy })
  }
}

/**
 * Returns the size of a header in bytes. A value may contain line breaks, because foreign dead letters carry stack traces
 * in headers.
 */
function checkHeader(name: string, value: unknown, limits: EventLimits, faults: Faults): number {
  // `__proto__` is a legal token, but an assignment would set the prototype of the object.
  if (name.length > MAX_HEADER_NAME_BYTES || !HEADER_NAME.test(name) || name === '__proto__') {
    const remedy = `use 1 to ${MAX_HEADER_NAME_BYTES} letters, digits or !#$%&'*+-.^_\`|~`
    faults.add('headers', name, `rename this header: ${remedy}`)
    return 0
  }
  if (typeof value !== 'string') {
    faults.add(`headers.${name}`, value, 'give a string')
    return 0
  }
  if (value.length > limits.maxHeaderBytes || PRINTABLE_ASCII.test(value)) return name.length + value.length
  if (value.includes('\0') || !value.isWellFormed()) {
    // The fault leaves out the value, because headers carry credentials.
    const remedy = 'remove NUL characters and halves of surrogate pairs'
    faults.list.push({ path: `headers.${name}`, received: 'a string that some stores cannot hold', remedy })
  }
  return name.length + textBytes(value)
}
