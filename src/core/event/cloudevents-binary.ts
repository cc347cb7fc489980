import { Faults } from '../options/faults.ts'
import { encodeBase64 } from './base64.ts'
import { type CloudEventDefaults, fromCloudEvent, toCloudEvent } from './cloudevents.ts'
import { CloudEventError } from './errors.ts'
import type { LazaretEvent } from './event.ts'
import { isBytes } from './plain.ts'

/** A CloudEvent in the binary mode of HTTP: the attributes are headers, the data is the body. */
export interface BinaryCloudEvent {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** The headers and the body of an HTTP request, as `node:http` and `Object.fromEntries(request.headers)` give them. */
export interface BinaryCloudEventInput {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array
}

const PREFIX = 'ce-'
const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'
const JSON_DATA = /^[^;]*[/+]json\s*(?:;|$)/i
const TEXT_DATA = /^\s*text\/|^[^;]*[/+]xml\s*(?:;|$)/i
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Writes an event as a CloudEvent in binary mode. Reading it back gives the same event, with attributes as texts. */
export function toBinaryCloudEvent(event: LazaretEvent): BinaryCloudEvent {
  const { data: _, data_base64: __, datacontenttype, ...attributes } = toCloudEvent(event)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(attributes)) headers[PREFIX + name] = escaped(String(value))
  const { payload } = event
  const given = datacontenttype as string | undefined
  if (payload === null) {
    if (given !== undefined) headers['content-type'] = given
    return { headers, body: new Uint8Array() }
  }
  const contentType = given ?? (isBytes(payload) ? BYTES_TYPE : JSON_TYPE)
  headers['content-type'] = contentType
  return {
    headers,
    body: isBytes(payload) ? payload : new TextEncoder().encode(textOf(payload, contentType)),
  }
}

/** Reads a CloudEvent in binary mode, or throws one `CloudEventError` that lists every problem. */
export function fromBinaryCloudEvent(
  input: BinaryCloudEventInput,
  defaults: CloudEventDefaults,
): LazaretEvent {
  const attributes = new Map<string, unknown>()
  let contentType: string | undefined
  for (const [name, value] of Object.entries(input.headers)) {
    const header = name.toLowerCase()
    const text = typeof value === 'object' ? value.join(',') : value
    if (text === undefined) continue
    if (header === 'content-type') contentType = text
    if (header.startsWith(PREFIX)) attributes.set(header.slice(PREFIX.length), unescaped(text))
  }
  return fromAttributes(attributes, contentType, input.body, defaults)
}

/** Reads a binary message whose transport keeps the attributes elsewhere, as AMQP does. */
export function fromAttributes(
  attributes: ReadonlyMap<string, unknown>,
  contentType: string | undefined,
  body: Uint8Array,
  defaults: CloudEventDefaults,
): LazaretEvent {
  const { data, data_base64, ...rest } = Object.fromEntries(attributes)
  // A header cannot carry a boolean. All other attributes of Lazaret are texts in both modes.
  if (rest['lazaretnosource'] === 'true') rest['lazaretnosource'] = true
  // These two types are the defaults of the structured form, so they need no header.
  const isDefault = contentType === JSON_TYPE || contentType === BYTES_TYPE
  if (contentType !== undefined && !isDefault) rest['datacontenttype'] = contentType
  return fromCloudEvent({ ...rest, ...dataOf(contentType, body) }, defaults)
}

function dataOf(contentType: string | undefined, body: Uint8Array): Record<string, unknown> {
  if (body.length === 0) return {}
  if (contentType === undefined || JSON_DATA.test(contentType)) return { data: parsed(body) }
  if (!TEXT_DATA.test(contentType)) return { data_base64: encodeBase64(body) }
  return { data: decoded(body) }
}

function parsed(body: Uint8Array): unknown {
  const text = decoded(body)
  try {
    return JSON.parse(text)
  } catch {
    throw invalidData(text, 'give JSON, or name another content-type')
  }
}

function decoded(body: Uint8Array): string {
  try {
    return UTF8.decode(body)
  } catch {
    throw invalidData(body, 'give UTF-8, or name another content-type')
  }
}

function invalidData(received: unknown, remedy: string): CloudEventError {
  const faults = new Faults()
  faults.add('data', received, remedy)
  return new CloudEventError(faults.list)
}

function textOf(payload: unknown, contentType: string): string {
  return typeof payload === 'string' && !JSON_DATA.test(contentType) ? payload : JSON.stringify(payload)
}

/**
 * Escapes the characters that the HTTP binding requires: those that a header cannot carry, the space, the quote and the
 * percent sign.
 */
function escaped(text: string): string {
  return text.replaceAll(/[^\x21\x23\x24\x26-\x7e]+/g, run => encodeURIComponent(run))
}

/** Quotes around the value are allowed. A percent sign that begins no escape stands for itself. */
function unescaped(text: string): string {
  const bare = /^"(.*)"$/s.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? text
  try {
    return bare.replaceAll(/(?:%[0-9a-f]{2})+/gi, run => decodeURIComponent(run))
  } catch {
    return bare
  }
}
