import { Faults } from '../options/faults.ts'
import { type CloudEventDefaults, fromCloudEvent, toCloudEvent } from './cloudevents.ts'
import { BYTES_TYPE, bodyOf, DATA_KIND, dataOf, JSON_TYPE } from './cloudevents-data.ts'
import { CloudEventError } from './errors.ts'
import type { LazaretEvent } from './event.ts'
import { isBytes, isPlainObject } from './plain.ts'

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
const TYPE_HEADER = 'ce-datacontenttype'

/** Writes an event as a CloudEvent in binary mode. Reading it back gives the same event, with attributes as texts. */
export function toBinaryCloudEvent(event: LazaretEvent): BinaryCloudEvent {
  const { data: _, data_base64: __, datacontenttype, ...written } = toCloudEvent(event)
  const attributes: Record<string, unknown> = { ...written }
  const given = datacontenttype as string | undefined
  const { payload } = event
  const ownType = isBytes(payload) ? BYTES_TYPE : JSON_TYPE
  const contentType = given ?? (payload === null ? undefined : ownType)
  const { body, kind } = bodyOf(payload, contentType)
  if (kind !== undefined) attributes[DATA_KIND] = kind
  // A reader drops the types that Lazaret adds by itself, so that one given by the event travels packed.
  if (given !== undefined && isOwnType(given))
    attributes['lazaretheaders'] = JSON.stringify({ ...packedHeaders(attributes), [TYPE_HEADER]: given })
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(attributes)) headers[PREFIX + name] = escaped(String(value))
  if (contentType !== undefined) headers['content-type'] = contentType
  return { headers, body }
}

function packedHeaders({ lazaretheaders }: Readonly<Record<string, unknown>>): Record<string, string> {
  return lazaretheaders === undefined ? {} : JSON.parse(lazaretheaders as string)
}

/** These two types say no more than the structured form says without them. */
function isOwnType(contentType: string): boolean {
  return contentType === JSON_TYPE || contentType === BYTES_TYPE
}

/** Reads a CloudEvent in binary mode, or throws one `CloudEventError` that lists every problem. */
export function fromBinaryCloudEvent(
  input: BinaryCloudEventInput,
  defaults: CloudEventDefaults,
): LazaretEvent {
  const faults = new Faults()
  const texts = readTexts(input?.headers, faults)
  if (!isBytes(input?.body)) faults.add('body', input?.body, 'give the bytes of the request as a Uint8Array')
  if (faults.list.length > 0) throw new CloudEventError(faults.list)
  const contentType = texts.get('content-type')
  texts.delete('content-type')
  const attributes = [...texts].map(([name, text]) => [name.slice(PREFIX.length), unescaped(text)] as const)
  return fromAttributes(new Map(attributes), contentType, input.body, defaults)
}

/** The content type and the attributes, by their names in lower case. */
function readTexts(headers: unknown, faults: Faults): Map<string, string> {
  const texts = new Map<string, string>()
  if (!isPlainObject(headers)) {
    faults.add(
      'headers',
      headers,
      'give a plain object; for a Fetch request Object.fromEntries(request.headers)',
    )
    return texts
  }
  for (const [name, value] of Object.entries(headers)) {
    const header = name.toLowerCase()
    if (value === undefined || !(header === 'content-type' || header.startsWith(PREFIX))) continue
    const text = Array.isArray(value) && value.every(isText) ? value.join(',') : value
    const isSecond = texts.has(header)
    if (!isText(text)) faults.add(header.slice(0, 40), value, 'give a string or a list of strings')
    else if (isSecond) faults.add(header.slice(0, 40), text, 'give it once, whatever the case of its name')
    else texts.set(header, text)
  }
  return texts
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** The event of a binary message whose transport keeps attributes elsewhere, as AMQP does. */
export function fromAttributes(
  attributes: ReadonlyMap<string, unknown>,
  contentType: string | undefined,
  body: Uint8Array,
  defaults: CloudEventDefaults,
): LazaretEvent {
  const faults = new Faults()
  const { data: _, data_base64: __, [DATA_KIND]: kind, ...rest } = Object.fromEntries(attributes)
  // A header has no booleans. Every other attribute of ours is a text in both modes.
  if (rest['lazaretnosource'] === 'true') rest['lazaretnosource'] = true
  if (contentType !== undefined && !isOwnType(contentType)) rest['datacontenttype'] = contentType
  const read = dataOf(body, contentType, kind, faults)
  try {
    const event = fromCloudEvent({ ...rest, ...read }, defaults)
    if (faults.list.length === 0) return event
  } catch (error) {
    if (!(error instanceof CloudEventError)) throw error
    faults.list.push(...error.faults)
  }
  throw new CloudEventError(faults.list)
}

/**
 * Escapes the characters that the HTTP binding requires: those that a header cannot carry, the space, the quote and the
 * percent sign.
 */
export function escaped(text: string): string {
  return text.replaceAll(/[^\x21\x23\x24\x26-\x7e]+/g, run => encodeURIComponent(run))
}

/** Quotes around the value are allowed. A percent sign that begins no escape stands for itself. */
export function unescaped(text: string): string {
  if (!text.includes('%') && !text.startsWith('"')) return text
  const bare = /^"(.*)"$/s.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? text
  try {
    return bare.replaceAll(/(?:%[0-9a-f]{2})+/gi, run => decodeURIComponent(run))
  } catch {
    return bare
  }
}
