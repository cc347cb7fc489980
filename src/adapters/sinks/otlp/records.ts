import type { LazaretEvent } from '../../../core/event/event.ts'
import { isBytes } from '../../../core/event/plain.ts'
import { traceContextOf } from '../../../core/event/trace-context.ts'
import { type Severity, severityOf, severityText } from '../severity.ts'
import type { OtlpLogRecord } from './exporter.ts'

/** The value of an attribute. */
export type OtlpAttribute = string | number | boolean

/** The first number of each range of OpenTelemetry's log data model. */
const NUMBERS: Readonly<Record<Severity, number>> = {
  trace: 1,
  debug: 5,
  info: 9,
  warn: 13,
  error: 17,
  fatal: 21,
}

const MAX_ATTRIBUTES = 64
const MAX_ATTRIBUTE_LENGTH = 1_000
const INT64_END = 2 ** 63
/** The last millisecond whose nanoseconds are a uint64, in the year 2554. An event may be from any year up to 9999. */
const MAX_TIME_MS = 18_446_744_073_709

export interface RecordSettings {
  readonly resource: { readonly attributes: Readonly<Record<string, OtlpAttribute>> }
  readonly scope: { readonly name: string }
  readonly attributes: (event: LazaretEvent) => Readonly<Record<string, OtlpAttribute>> | undefined
}

/** An event as a log record: the payload is the body, the type is the name, the rest are attributes. */
export function recordOf(event: LazaretEvent, settings: RecordSettings, now: number): OtlpLogRecord {
  const severity = severityOf(event)
  const spanContext = traceContextOf(event)
  const own = ownAttributes(settings.attributes(event))
  return {
    hrTime: hrTime(Math.min(event.occurredAt, MAX_TIME_MS)),
    hrTimeObserved: hrTime(now),
    ...(spanContext && { spanContext }),
    severityNumber: NUMBERS[severity],
    severityText: severityText(event) ?? severity.toUpperCase(),
    body: event.payload === null ? undefined : anyValue(event.payload),
    eventName: event.type,
    resource: settings.resource,
    instrumentationScope: settings.scope,
    attributes: { ...own.kept, ...envelopeAttributes(event) },
    droppedAttributesCount: own.dropped,
  }
}

/** Uses the names of OpenTelemetry's conventions if there is one. Records with the same uid count as one. */
function envelopeAttributes(event: LazaretEvent): Record<string, string> {
  const { id, channel, key, idempotencyKey, source } = event
  const attributes: Record<string, string> = { 'log.record.uid': id, 'lazaret.channel': channel }
  if (source !== undefined) attributes['cloudevents.event_source'] = source
  if (key !== undefined) attributes['lazaret.key'] = key
  if (idempotencyKey !== id) attributes['lazaret.idempotency_key'] = idempotencyKey
  return attributes
}

function ownAttributes(given: Readonly<Record<string, OtlpAttribute>> = {}): {
  readonly kept: Record<string, OtlpAttribute>
  readonly dropped: number
} {
  const entries = Object.entries(given).filter(([, value]) => isAttribute(value))
  const kept = entries.slice(0, MAX_ATTRIBUTES).map(([name, value]) => [name, shortened(value)] as const)
  return {
    kept: writableAttributes(Object.fromEntries(kept)),
    dropped: Math.max(0, entries.length - MAX_ATTRIBUTES),
  }
}

/** The attributes as the exporters can write them, by the rules of the payload. */
export function writableAttributes(
  attributes: Readonly<Record<string, OtlpAttribute>>,
): Record<string, OtlpAttribute> {
  const entries = Object.entries(attributes)
  return Object.fromEntries(entries.map(([name, value]) => [name.toWellFormed(), writable(value)]))
}

function isAttribute(value: unknown): value is OtlpAttribute {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value === 'string' || typeof value === 'boolean'
}

function shortened(value: OtlpAttribute): OtlpAttribute {
  return typeof value === 'string' ? value.slice(0, MAX_ATTRIBUTE_LENGTH) : value
}

/**
 * The exporters treat every whole number as an int64, and a number outside that range makes a collector refuse all
 * records of the request; such a number is sent as text.
 */
function writable(value: OtlpAttribute): OtlpAttribute {
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) >= INT64_END ? String(value) : value
  return typeof value === 'string' ? value.toWellFormed() : value
}

/** The payload as the exporters can write it. */
function anyValue(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'string') return writable(value)
  if (typeof value !== 'object' || value === null || isBytes(value)) return value
  if (Array.isArray(value)) return value.map(anyValue)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name.toWellFormed(), anyValue(member)]))
}

function hrTime(ms: number): [number, number] {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1_000_000)]
}
