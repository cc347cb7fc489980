import { alertOf } from '../../../core/alert/document.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { isBytes, isPlainObject } from '../../../core/event/plain.ts'
import { traceContextOf } from '../../../core/event/trace-context.ts'
import { hash128 } from '../../../core/hash.ts'
import { type Severity, severityOf } from '../severity.ts'
import type { SentryScope, SentrySdk } from './sdk.ts'

/** An error as a payload carries it: the members of an Error, as texts. */
export interface SentryErrorLike {
  /** The class of the error, such as `TypeError` ['Error']. */
  readonly name?: string | undefined
  /** The message of the error. */
  readonly message: string
  /** The stack of the error [none]. */
  readonly stack?: string | undefined
}

interface EventSettings {
  readonly tags: (event: LazaretEvent) => Readonly<Record<string, string>> | undefined
  readonly fingerprint: (event: LazaretEvent) => readonly string[] | undefined
  readonly error: (event: LazaretEvent) => SentryErrorLike | undefined
  readonly payload: boolean
}

/** The event that the SDK captures. */
export interface SentryEvent {
  readonly event_id: string
  readonly [name: string]: unknown
}

export const LEVELS: Readonly<Record<Severity, string>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warn: 'warning',
  error: 'error',
  fatal: 'fatal',
}

/** An event of Sentry's: an exception when the payload carries an error, else a message. */
export function sentryEvent(
  event: LazaretEvent,
  breadcrumbs: readonly object[],
  settings: EventSettings,
  sdk: Pick<SentrySdk, 'Scope'>,
  parseStack: ((stack: string) => unknown[]) | undefined,
): SentryEvent {
  const error = settings.error(event)
  const alert = alertOf(event)
  // All messages about one alert form one issue.
  const own = alert === undefined ? [event.type] : [alert.key]
  const fingerprint = settings.fingerprint(event) ?? (error === undefined ? own : undefined)
  const trace = traceContextOf(event)
  return {
    event_id: sentryId(event.id),
    timestamp: event.occurredAt / 1_000,
    platform: 'node',
    logger: 'lazaret',
    level: LEVELS[severityOf(event)],
    ...(error === undefined
      ? { message: messageOf(event) }
      : { exception: { values: [exceptionOf(error, parseStack)] } }),
    ...(fingerprint && { fingerprint: [...fingerprint] }),
    tags: tagsOf(event, settings.tags(event)),
    contexts: {
      ...(trace && { trace: { trace_id: trace.traceId, span_id: trace.spanId } }),
      event: contextOf(event),
    },
    ...(settings.payload && { extra: { payload: shownPayload(event.payload) } }),
    breadcrumbs: [...breadcrumbs],
    sdkProcessingMetadata: ownScopes(sdk, trace?.traceId),
  }
}

/**
 * Separate scopes. Without them the SDK would use the scope of the current request: an event would carry the user and
 * tags of that request, and `lastEventId()` of the service would be this event's.
 */
function ownScopes(sdk: Pick<SentrySdk, 'Scope'>, traceId: string | undefined): Record<string, SentryScope> {
  const scope = new sdk.Scope()
  if (traceId !== undefined) scope.setPropagationContext({ traceId, sampleRand: 0 })
  return { capturedSpanScope: scope, capturedSpanIsolationScope: new sdk.Scope() }
}

function exceptionOf(
  { name, message, stack }: SentryErrorLike,
  parseStack: ((stack: string) => unknown[]) | undefined,
): object {
  const frames = stack === undefined ? [] : (parseStack?.(stack) ?? [])
  return {
    type: name ?? 'Error',
    value: message,
    mechanism: { type: 'lazaret', handled: true },
    ...(frames.length > 0 && { stacktrace: { frames } }),
  }
}

/** The value of `error`, `err` or `exception` in the payload, if it looks like an error. */
export function errorInPayload({ payload }: LazaretEvent): SentryErrorLike | undefined {
  if (!isPlainObject(payload)) return undefined
  const { error, err, exception } = payload
  return [error, err, exception].find(isErrorLike)
}

function isErrorLike(value: unknown): value is SentryErrorLike {
  if (!isPlainObject(value) || typeof value['message'] !== 'string') return false
  return [value['name'], value['stack']].every(part => part === undefined || typeof part === 'string')
}

export function messageOf(event: LazaretEvent): string {
  const { type, payload } = event
  const alert = alertOf(event)
  if (alert !== undefined) return `${alert.title}: ${alert.summary}`
  const message = isPlainObject(payload) ? payload['message'] : payload
  return typeof message === 'string' && message !== '' ? message : type
}

export function shownPayload(payload: unknown): unknown {
  return isBytes(payload) ? `${payload.length} bytes` : payload
}

function contextOf({ id, channel, key, idempotencyKey, source }: LazaretEvent): Record<string, string> {
  return {
    id,
    channel,
    idempotencyKey,
    ...(key !== undefined && { key }),
    ...(source !== undefined && { source }),
  }
}

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i

/**
 * The Sentry id of an event, with 32 hex digits. It is made from the event id, so that an event that is sent twice has
 * one id, and Sentry keeps one.
 */
export function sentryId(eventId: string): string {
  return UUID.test(eventId) ? eventId.replaceAll('-', '').toLowerCase() : hash128(eventId)
}

/** Limits of Sentry. It drops what exceeds them, sometimes with the whole tag. */
const MAX_TAGS = 50
const MAX_NAME_LENGTH = 200
const MAX_VALUE_LENGTH = 200
const INVALID_IN_NAME = /[^a-zA-Z0-9_.:-]/g

/** Type, channel and the tags of the service, cut to the limits of Sentry. */
function tagsOf(event: LazaretEvent, own: Readonly<Record<string, string>> = {}): Record<string, string> {
  const tags = { ...own, 'event.type': event.type, 'event.channel': event.channel }
  const entries = Object.entries(tags).filter(([, value]) => typeof value === 'string' && value !== '')
  return Object.fromEntries(
    entries
      .slice(-MAX_TAGS)
      .map(([name, value]) => [
        name.replace(INVALID_IN_NAME, '_').slice(0, MAX_NAME_LENGTH),
        value.replace(/\s+/g, ' ').slice(0, MAX_VALUE_LENGTH).toWellFormed(),
      ]),
  )
}
