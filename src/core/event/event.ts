import { type Fault, Faults } from '../options/faults.ts'
import { show } from '../options/show.ts'
import { checkEvent } from './check.ts'
import { CORRELATION_HEADER } from './correlation.ts'
import { EventError } from './errors.ts'
import { DEFAULT_EVENT_LIMITS, type EventLimits } from './limits.ts'
import { isPlainObject } from './plain.ts'
import type { IdSource } from './uuid.ts'

/** Any value that JSON can express. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/**
 * A record of something that happened. The envelope is the same for every broker, sink and store; the payload is any JSON
 * value or bytes. Every event has all fields in this order, with undefined for unset ones, because objects of one shape
 * are faster.
 */
export interface LazaretEvent<P = unknown> {
  readonly v: 1
  readonly id: string
  readonly type: string
  readonly channel: string
  /** Events with one key stay in order if the consumer asks for order, and go to one partition. */
  readonly key?: string | undefined
  /** The same for every delivery and replay of an event, so that its effect happens once. */
  readonly idempotencyKey: string
  readonly occurredAt: number
  /** Undefined if the event never expires. */
  readonly expiresAt?: number | undefined
  /** The service that emitted the event, as a URI reference. */
  readonly source?: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly payload: P
}

/** The fields of a new event. Lazaret adds the fields that are left out. */
export interface EventInput<P = unknown> {
  readonly type: string
  readonly channel: string
  /** Default: null. A property that is undefined counts as absent. */
  readonly payload?: P | undefined
  /** Default: a new UUIDv7. */
  readonly id?: string | undefined
  readonly key?: string | undefined
  /** Default: the id. */
  readonly idempotencyKey?: string | undefined
  /** Default: now. */
  readonly occurredAt?: number | undefined
  readonly expiresAt?: number | undefined
  readonly source?: string | undefined
  /** The id that all events of one request or business process share. Travels as the header `correlation-id`. */
  readonly correlationId?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

interface EventSources {
  readonly now: number
  readonly newId: IdSource
  readonly limits?: EventLimits | undefined
  /** The channel of events that name none. It is not checked. */
  readonly channel?: string | undefined
  /** The source of events that name none. */
  readonly source?: string | undefined
  /** The headers of events that have none. Events share this object; it is neither copied nor checked. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Creates an event. The payload is not copied, so the caller must not change it afterwards. */
export function createEvent<P = unknown>(input: EventInput<P>, sources: EventSources): LazaretEvent<P> {
  const event = fillIn(input, sources)
  const faults = checkEvent(event, sources.limits ?? DEFAULT_EVENT_LIMITS, sources)
  if (faults.length > 0) throw new EventError(`event ${show(event.id)}`, faults)
  return event
}

function fillIn<P>(input: EventInput<P>, sources: EventSources): LazaretEvent<P> {
  const { now, newId, channel, source, headers } = sources
  try {
    const id = input.id ?? newId(now)
    return {
      v: 1,
      id,
      type: input.type,
      // The check reports an event that has neither its own channel nor a default one.
      channel: input.channel ?? channel!,
      key: input.key,
      idempotencyKey: input.idempotencyKey ?? id,
      occurredAt: input.occurredAt ?? now,
      expiresAt: input.expiresAt,
      source: input.source ?? source,
      headers: correlated(copyHeaders(input.headers, headers), input.correlationId),
      payload: input.payload === undefined ? (null as P) : input.payload,
    }
  } catch (error) {
    throw new EventError('event', [unreadable(input)], error)
  }
}

/** A spread keeps a `__proto__` header as an own property. The check then finds and refuses it. */
function copyHeaders(
  headers: EventInput['headers'],
  otherwise: EventInput['headers'],
): Readonly<Record<string, string>> {
  if (headers === undefined) return otherwise ?? {}
  return isPlainObject(headers) ? { ...headers } : headers
}

function correlated(headers: LazaretEvent['headers'], id: string | undefined): LazaretEvent['headers'] {
  return id === undefined || !isPlainObject(headers) ? headers : { ...headers, [CORRELATION_HEADER]: id }
}

function unreadable(input: unknown): Fault {
  const faults = new Faults()
  faults.add(
    'event',
    input,
    'give an event object with plain data; a getter or proxy of it throws, or it is not an object',
  )
  return faults.list[0]!
}
