import { type Fault, Faults } from '../options/faults.ts'
import { type AttributeValue, parseTime, timeText } from './attributes.ts'
import { decodeBase64, encodeBase64 } from './base64.ts'
import { checkEvent } from './check.ts'
import { attributeOf, readHeaders } from './cloudevents-headers.ts'
import { CloudEventError } from './errors.ts'
import type { LazaretEvent } from './event.ts'
import { DEFAULT_EVENT_LIMITS, type EventLimits } from './limits.ts'
import { isBytes, isPlainObject } from './plain.ts'
import { sourceAndId } from './source-and-id.ts'

/** A CloudEvents 1.0 event in the structured JSON format, ready for JSON.stringify. */
interface CloudEvent {
  readonly specversion: '1.0'
  readonly id: string
  readonly source: string
  readonly type: string
  readonly time?: string
  readonly data?: unknown
  readonly data_base64?: string
  readonly [attribute: string]: unknown
}

/** Values for fields that an event needs and a CloudEvent may omit. */
export interface CloudEventDefaults {
  /** The channel of a CloudEvent without `lazaretchannel`. */
  readonly channel: string
  /**
   * The time of a CloudEvent without `time`. Use the broker's time of the message and not the clock, so that a redelivery
   * gives the same event.
   */
  readonly occurredAt: number
  readonly limits?: EventLimits | undefined
}

/**
 * Writes an event as a CloudEvent. Every field has its attribute. Headers that cannot be attributes travel together in
 * `lazaretheaders`, because names of attributes allow neither capitals nor hyphens. Reading the CloudEvent gives an equal
 * event.
 */
export function toCloudEvent(event: LazaretEvent): CloudEvent {
  const attributes: Record<string, AttributeValue> = {}
  const packed: Record<string, string> = {}
  for (const [name, value] of Object.entries(event.headers)) {
    const attribute = attributeOf(name, value, event)
    if (attribute === undefined) packed[name] = value
    else attributes[attribute[0]] = attribute[1]
  }
  return {
    specversion: '1.0',
    id: event.id,
    source: event.source ?? `/lazaret/${event.channel}`,
    type: event.type,
    time: timeText(event.occurredAt),
    ...(event.key === undefined ? undefined : { partitionkey: event.key }),
    ...(event.expiresAt === undefined ? undefined : { expirytime: timeText(event.expiresAt) }),
    lazaretchannel: event.channel,
    lazaretidempotencykey: event.idempotencyKey,
    // CloudEvents requires a source. This attribute says that the event had none.
    ...(event.source === undefined ? { lazaretnosource: true } : undefined),
    ...(Object.keys(packed).length === 0 ? undefined : { lazaretheaders: JSON.stringify(packed) }),
    ...attributes,
    ...(isBytes(event.payload) ? { data_base64: encodeBase64(event.payload) } : { data: event.payload }),
  }
}

type Attributes = ReadonlyMap<string, unknown>

/**
 * Converts a CloudEvent to an event. The value is an object in the structured JSON format, or a `CloudEvent` of the
 * CloudEvents SDK. It throws one CloudEventError with all faults.
 */
export function fromCloudEvent(value: unknown, defaults: CloudEventDefaults): LazaretEvent {
  const faults = new Faults()
  const attributes = readAttributes(value, faults)
  if (attributes === undefined) throw new CloudEventError(faults.list)
  const event = readFields(attributes, defaults, faults)
  for (const fault of checkEvent(event, defaults.limits ?? DEFAULT_EVENT_LIMITS))
    faults.list.push(renamed(fault))
  if (faults.list.length > 0) throw new CloudEventError(faults.list)
  return event
}

/** Reads each own property once. Null means absent, as in the JSON format of CloudEvents. */
function readAttributes(value: unknown, faults: Faults): Attributes | undefined {
  try {
    const isOfSdk = isSdkEvent(value)
    if (isOfSdk || isPlainObject(value)) {
      const attributes = new Map(
        Object.entries(value).filter(([, attribute]) => (attribute ?? null) !== null),
      )
      // The SDK keeps bytes in both forms. In the JSON format of its events data_base64 stands for them too.
      if (isOfSdk && attributes.has('data_base64')) attributes.delete('data')
      return attributes
    }
    faults.add('event', value, 'give an object in the structured JSON format, or a CloudEvent of the SDK')
  } catch {
    faults.add('event', value, 'give plain data; a getter or proxy threw')
  }
  return undefined
}

/** An instance of the SDK's class. Any copy and version of the SDK fits, so it is known by its shape. */
function isSdkEvent(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || isPlainObject(value)) return false
  return Object.hasOwn(value, 'specversion') && typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

function readFields(attributes: Attributes, defaults: CloudEventDefaults, faults: Faults): LazaretEvent {
  const headers = readHeaders(attributes, faults)
  const id = attributes.get('id')
  const source = attributes.get('source')
  const version = attributes.get('specversion')
  if (version !== '1.0') faults.add('specversion', version, "give '1.0'")
  if (source === undefined) faults.add('source', source, 'give a URI reference')
  const event = {
    v: 1,
    id,
    type: attributes.get('type'),
    channel: attributes.get('lazaretchannel') ?? defaults.channel,
    key: attributes.get('partitionkey'),
    idempotencyKey: attributes.get('lazaretidempotencykey') ?? keyOf(source, id),
    occurredAt: readTime('time', attributes, headers, faults) ?? defaults.occurredAt,
    expiresAt: readTime('expirytime', attributes, headers, faults),
    source: attributes.get('lazaretnosource') === true ? undefined : source,
    headers: Object.fromEntries(headers),
    payload: readData(attributes, faults),
  }
  return event as LazaretEvent
}

/** An event with another source or id is refused. */
function keyOf(source: unknown, id: unknown): string {
  return typeof source === 'string' && typeof id === 'string' ? sourceAndId(source, id) : 'unknown'
}

function readTime(
  name: 'time' | 'expirytime',
  attributes: Attributes,
  headers: Map<string, string>,
  faults: Faults,
): number | undefined {
  const text = attributes.get(name)
  if (text === undefined) return undefined
  const ms = typeof text === 'string' ? parseTime(text) : undefined
  if (ms === undefined) faults.add(name, text, "give an RFC 3339 time such as '2026-01-31T12:00:00Z'")
  else if (text !== timeText(ms)) headers.set(`ce-${name}`, text as string)
  return ms
}

function readData(attributes: Attributes, faults: Faults): unknown {
  if (!attributes.has('data_base64')) return attributes.get('data') ?? null
  const text = attributes.get('data_base64')
  if (attributes.has('data')) faults.add('data_base64', text, 'give data or data_base64, not both')
  const bytes = typeof text === 'string' ? decodeBase64(text) : undefined
  if (bytes === undefined) faults.add('data_base64', text, 'give base64 with its padding')
  return bytes ?? null
}

const ATTRIBUTE_OF_FIELD: Readonly<Record<string, string>> = {
  channel: 'lazaretchannel',
  key: 'partitionkey',
  idempotencyKey: 'lazaretidempotencykey',
  occurredAt: 'time',
  expiresAt: 'expirytime',
  payload: 'data',
}

/** Names the fault by the attribute of the CloudEvent, because its author does not know the fields of an event. */
function renamed(fault: Fault): Fault {
  const [field = ''] = /^\w+/.exec(fault.path) ?? []
  const attribute = Object.hasOwn(ATTRIBUTE_OF_FIELD, field) ? ATTRIBUTE_OF_FIELD[field] : undefined
  return attribute === undefined ? fault : { ...fault, path: attribute + fault.path.slice(field.length) }
}
