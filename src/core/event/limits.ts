import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import { integer, type Rule, withDefault } from '../options/rules.ts'

const DEFAULT_MAX_PAYLOAD_BYTES = 1_048_576
const DEFAULT_MAX_DEPTH = 64
const DEFAULT_MAX_HEADERS = 100
const DEFAULT_MAX_HEADER_BYTES = 65_536

/**
 * The longest texts of the envelope, in UTF-8 bytes. They are not options, because columns, broker properties and indexes
 * rely on them. An AMQP property holds 255 bytes.
 */
export const MAX_ID_BYTES = 255
export const MAX_TYPE_BYTES = 255
export const MAX_KEY_BYTES = 512
export const MAX_IDEMPOTENCY_KEY_BYTES = 1_024
export const MAX_SOURCE_BYTES = 512
export const MAX_HEADER_NAME_BYTES = 128

/** The token of RFC 9110. HTTP, AMQP, Kafka and NATS all accept it as the name of a header. */
export const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

/** The characters of a URI reference (RFC 3986), which CloudEvents requires of a source. */
export const URI_REFERENCE = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/

/** The upper bounds of the options. A reader can rely on them for every stored event. */
const MOST = { payloadBytes: 268_435_456, depth: 500, headers: 1_000, headerBytes: 1_048_576 } as const

const RULES = {
  maxPayloadBytes: withDefault(integer({ min: 1, max: MOST.payloadBytes }), DEFAULT_MAX_PAYLOAD_BYTES),
  maxDepth: withDefault(integer({ min: 1, max: MOST.depth }), DEFAULT_MAX_DEPTH),
  maxHeaders: withDefault(integer({ min: 0, max: MOST.headers }), DEFAULT_MAX_HEADERS),
  maxHeaderBytes: withDefault(integer({ min: 0, max: MOST.headerBytes }), DEFAULT_MAX_HEADER_BYTES),
}

/** Event limits with every default filled in. */
export type EventLimits = Resolved<typeof RULES>

/** The largest event that is accepted. */
export interface EventLimitsOptions {
  /** The largest payload, in UTF-8 bytes of its JSON text, or in bytes of a byte payload [1 048 576]. */
  readonly maxPayloadBytes?: number | undefined
  /** How deep arrays and objects of a payload may be nested [64]. */
  readonly maxDepth?: number | undefined
  /** The most headers of an event [100]. */
  readonly maxHeaders?: number | undefined
  /** The size of all header names and values together, in UTF-8 bytes [65 536]. */
  readonly maxHeaderBytes?: number | undefined
}

/** The rule for dispatchers, which report faults of the limits together with their own. */
export const eventLimitsRule: Rule<EventLimits> = group(RULES)

export function resolveEventLimits(options?: EventLimitsOptions): EventLimits {
  return resolveBy('limits', eventLimitsRule, options)
}

/** The limits of an event unless options change them. */
export const DEFAULT_EVENT_LIMITS: EventLimits = resolveEventLimits()

/** The limits for reading a stored event. Its writer had other limits, and the event must stay readable. */
export const WIDEST_EVENT_LIMITS: EventLimits = resolveEventLimits({
  maxPayloadBytes: MOST.payloadBytes,
  maxDepth: MOST.depth,
  maxHeaders: MOST.headers,
  maxHeaderBytes: MOST.headerBytes,
})
