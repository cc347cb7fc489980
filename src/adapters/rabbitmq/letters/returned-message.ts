import { eventHeaderName, shownHeaderName } from '../../../adapter-kit/collecting/names.ts'
import type { Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { WIDEST_EVENT_LIMITS } from '../../../core/event/limits.ts'
import { isBytes, isPlainObject } from '../../../core/event/plain.ts'
import { replayOf } from '../../../core/event/replay-headers.ts'
import { queueName } from '../broker/topology/names.ts'
import { encodeEvent, headersOf, type Outgoing } from '../broker/wire/event-codec.ts'
import { headerBytes, isReserved } from '../broker/wire/headers.ts'
import { rawHeaders, type TableEntry, WireValue } from '../broker/wire/table.ts'
import type { AmqpHeaders, AmqpProperties } from '../connection/amqp.ts'
import { HeadersTooLargeError } from '../errors.ts'
import type { Route } from '../options.ts'
import { isFaultHeader } from './failures.ts'
import { fromText, plainOf, typedText, type WireType } from './header-types.ts'

/**
 * The largest returned message. A frame of RabbitMQ holds 128 KiB; the rest is for properties and the headers of a
 * replay.
 */
const MAX_RETURNED_BYTES = 120_000
const MAX_TYPES_LENGTH = 20_000

/**
 * The parts that an event cannot hold: the types of headers that are not texts, and header names that an event cannot
 * have. No values: an origin is shown to everyone, and header values may be secret.
 */
interface HeaderForms {
  readonly v: 1
  readonly types: Readonly<Record<string, WireType>>
  /** The original names, by the names in the event. */
  readonly names: Readonly<Record<string, string>>
}

export interface CollectedHeaders {
  /** The headers as texts in the event. */
  readonly texts: Readonly<Record<string, string>>
  /** Beside the properties that are kept. */
  readonly origin: Origin
}

/** The headers of another program's message, such that they can be sent back as they were; or with the reason why not. */
export function collectedHeaders(properties: AmqpProperties): CollectedHeaders {
  const entries = rawHeaders(properties)?.filter(({ name }) => !isReserved(name) && !isFaultHeader(name))
  return entries === undefined ? headersFromClient(properties.headers ?? {}) : headersFromWire(entries)
}

/** Why the message of a letter cannot be sent back as it was; undefined when it can. */
export function unkeptHeaders(origin: Origin): string | undefined {
  const { unkeptHeaders: why } = origin
  return typeof why === 'string' ? why : undefined
}

function headersFromWire(entries: readonly TableEntry[]): CollectedHeaders {
  const texts: [string, string][] = []
  const types: [string, WireType][] = []
  const names: [string, string][] = []
  const taken = new Set<string>()
  const faults: string[] = []
  for (const { name, value } of entries) {
    const typed = typedText(value)
    const asName = eventHeaderName(name)
    if (typed === undefined)
      faults.push(`header '${shownHeaderName(name)}' has a value that a letter cannot store`)
    else if (asName === undefined || taken.has(asName))
      faults.push(`header '${shownHeaderName(name)}' has a name that a letter cannot store`)
    else {
      taken.add(asName)
      texts.push([asName, typed.text])
      if (typed.type !== 'S') types.push([asName, typed.type])
      if (asName !== name) names.push([asName, name])
    }
  }
  const bytes = entries.reduce((sum, { name, value }) => sum + 1 + Buffer.byteLength(name) + value.length, 0)
  if (bytes > MAX_RETURNED_BYTES) faults.push(`the headers take ${bytes} bytes, more than fits into a frame`)
  if (texts.length > WIDEST_EVENT_LIMITS.maxHeaders) faults.push(`there are ${texts.length} headers`)
  const forms: HeaderForms = { v: 1, types: Object.fromEntries(types), names: Object.fromEntries(names) }
  const formsText = types.length + names.length === 0 ? '' : JSON.stringify(forms)
  const hasRoom = formsText.length <= MAX_TYPES_LENGTH
  if (!hasRoom) faults.push('the types of its headers take too much space')
  const origin: Record<string, string> = {}
  if (formsText !== '' && hasRoom) origin['headerForms'] = formsText
  if (faults[0] !== undefined)
    origin['unkeptHeaders'] = `${faults[0]}; send it manually, or redirect it to a channel`
  return { texts: Object.fromEntries(texts), origin }
}

/**
 * For a client that does not expose its frames. Values that it read as other types than text are sent in the type that it
 * writes.
 */
function headersFromClient(headers: AmqpHeaders): CollectedHeaders {
  const texts = Object.fromEntries(
    Object.entries(headersOf(headers)).filter(([name]) => !isFaultHeader(name)),
  )
  const names = Object.keys(texts).filter(name => typeof headers[name] !== 'string')
  return { texts, origin: names.length === 0 ? {} : { typedHeaders: JSON.stringify(names) } }
}

/** The headers to send back: each with the type it had, unless it was edited into something else. */
function restoredHeaders(origin: Origin, headers: Readonly<Record<string, string>>): AmqpHeaders {
  const { types, names } = formsOf(origin)
  const restored = Object.entries(headers).map(([name, text]) => {
    const type = Object.hasOwn(types, name) ? types[name] : undefined
    const bytes = type === undefined ? undefined : fromText(text, type)
    const value =
      bytes !== undefined ? new WireValue(bytes, plainOf(text)) : type === GUESSED ? plainOf(text) : text
    return [Object.hasOwn(names, name) ? names[name]! : name, value] as const
  })
  return Object.fromEntries(restored)
}

const NO_FORMS: HeaderForms = Object.freeze({ v: 1, types: {}, names: {} })

function formsOf({ headerForms, typedHeaders }: Origin): HeaderForms {
  try {
    if (typeof headerForms === 'string') {
      const forms: unknown = JSON.parse(headerForms)
      return isHeaderForms(forms) ? forms : NO_FORMS
    }
    // The form of earlier versions: the names of headers that were not texts.
    if (typeof typedHeaders === 'string') {
      const names: readonly unknown[] = JSON.parse(typedHeaders)
      return { ...NO_FORMS, types: Object.fromEntries(names.filter(isText).map(name => [name, GUESSED])) }
    }
  } catch {
    // Another program wrote the value. The headers are sent as texts then.
  }
  return NO_FORMS
}

function isHeaderForms(value: unknown): value is HeaderForms {
  if (!isPlainObject(value) || value['v'] !== 1) return false
  const { types, names } = value
  return isPlainObject(types) && isPlainObject(names) && Object.values(names).every(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Not a type of AMQP, so no bytes can be written. The client guesses a type. */
const GUESSED = '?'

/** Properties of a message that an event has no place for. A replay gives them back. */
const KEPT_TEXTS = [
  'contentType',
  'contentEncoding',
  'correlationId',
  'replyTo',
  'messageId',
  'type',
  'appId',
] as const
const KEPT_NUMBERS = ['priority', 'timestamp'] as const

export function keptProperties(properties: AmqpProperties): Origin {
  const kept: Record<string, string | number> = {}
  for (const name of KEPT_TEXTS) {
    const value = properties[name]
    if (typeof value === 'string' && value !== '') kept[name] = value
  }
  for (const name of KEPT_NUMBERS) {
    const value = properties[name]
    if (typeof value === 'number') kept[name] = value
  }
  return kept
}

const PERSISTENT = 2

/** The properties to send a message back with: as they were, with the headers that a replay has now. */
function returnedProperties(origin: Origin, headers: Readonly<Record<string, string>>): AmqpProperties {
  const properties: Record<string, unknown> = {}
  for (const name of [...KEPT_TEXTS, ...KEPT_NUMBERS]) {
    const value = origin[name]
    if (value !== undefined) properties[name] = value
  }
  return { ...properties, headers: restoredHeaders(origin, headers), deliveryMode: PERSISTENT }
}

/** The limit with the headers of a replay. */
const MAX_SENT_BYTES = MAX_RETURNED_BYTES + 4_000

/** The message of an event that returns to its origin, or, redirected, goes to the queue of its channel. */
export function returned(event: LazaretEvent, origin: Origin, returnTo: 'exchange' | 'queue'): Outgoing {
  const handler = replayOf(event)?.handler
  const isOwn = origin['writtenBy'] === undefined
  if (isOwn) {
    const queue = handler === undefined ? event.channel : queueName(event.channel, handler)
    return { ...encodeEvent(event, ''), route: { exchange: '', routingKey: queue } }
  }
  return {
    route:
      handler === undefined ? { exchange: '', routingKey: event.channel } : returnRoute(origin, returnTo),
    content: contentOf(event, origin),
    // Without its own id a replay could not be distinguished from a message that copied its headers.
    properties: requireRoom({ ...returnedProperties(origin, event.headers), messageId: event.id }),
  }
}

function returnRoute(
  { exchange = '', routingKey = '', queue = '' }: Origin,
  returnTo: 'exchange' | 'queue',
): Route {
  return returnTo === 'queue' ? { exchange: '', routingKey: queue } : { exchange, routingKey }
}

/** A text payload was sent as text; every other payload that is not bytes was JSON. */
function contentOf({ payload }: LazaretEvent, origin: Origin): Buffer {
  if (isBytes(payload)) return Buffer.from(payload)
  const { contentType } = origin
  const isText =
    typeof payload === 'string' && typeof contentType === 'string' && /^text\//i.test(contentType)
  return Buffer.from(isText ? payload : JSON.stringify(payload))
}

/** Refuses headers that fit into no frame, because nothing may be left out silently. */
function requireRoom(properties: Outgoing['properties']): Outgoing['properties'] {
  const bytes = headerBytes(properties.headers ?? {})
  if (bytes > MAX_SENT_BYTES) throw new HeadersTooLargeError(bytes, MAX_SENT_BYTES)
  return properties
}
