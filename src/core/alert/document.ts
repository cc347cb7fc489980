import type { FailedEvent } from '../dead-letter/failed-event.ts'
import { timeText } from '../event/attributes.ts'
import type { LazaretEvent } from '../event/event.ts'
import { isPlainObject } from '../event/plain.ts'
import {
  ALERT_KINDS,
  ALERT_SEVERITIES,
  type AlertFacts,
  type AlertKind,
  type AlertMessage,
  type AlertSeverity,
  type AlertStatus,
  type ResolvedBy,
} from './alert.ts'
import { spanText } from './span-text.ts'

/** The type of the event that carries an alert to a target. */
export const ALERT_EVENT_TYPE = 'lazaret.alert'

/** A link of an alert. */
export interface AlertLink {
  readonly text: string
  readonly href: string
}

/**
 * The payload of an event of type `lazaret.alert`. It has a version, and later versions only add fields. Texts are masked. It
 * has the envelope of the failed event, and never its payload.
 */
export interface AlertDocument {
  readonly v: 1
  readonly status: AlertStatus
  /** Identifies the alert. It stays the same from begin to end, and is equal in all processes with the same `service`. */
  readonly key: string
  readonly kind: AlertKind
  readonly severity: AlertSeverity
  readonly title: string
  readonly summary: string
  /** How often the problem was reported since the alert began, and since the last message. */
  readonly count: number
  readonly newCount: number
  /** The number of alerts that a digest replaces. Undefined for other alerts. */
  readonly alerts?: number | undefined
  readonly since: string
  readonly lastSeenAt: string
  /** The time of the message. */
  readonly at: string
  readonly durationMs: number
  readonly resolvedBy?: ResolvedBy | undefined
  /** The service that sends the alert. */
  readonly service?: string | undefined
  readonly channel?: string | undefined
  readonly handler?: string | undefined
  readonly group?: string | undefined
  /** The latest event that was given up on. */
  readonly failed?: FailedEvent | undefined
  /** The id of the replay that halted or waits for approval. */
  readonly replay?: string | undefined
  readonly breaker?: string | undefined
  readonly limit?: AlertFacts['limit']
  readonly target?: string | undefined
  readonly links: readonly AlertLink[]
}

export function alertDocument(
  message: AlertMessage,
  { service, links }: Pick<AlertDocument, 'service' | 'links'>,
): AlertDocument {
  const { status, key, kind, severity, count, newCount, alerts, resolvedBy, at, since } = message
  const { title, summary: _, ...facts } = message.facts
  return withoutGaps({
    v: 1,
    status,
    key,
    kind,
    severity,
    title,
    summary: summaryOf(message),
    count,
    newCount,
    alerts,
    since: timeText(since),
    lastSeenAt: timeText(message.lastSeenAt),
    at: timeText(at),
    durationMs: at - since,
    resolvedBy,
    service,
    ...facts,
    links,
  })
}

const ENDED: Readonly<Record<ResolvedBy, string>> = {
  recovery: 'Recovered',
  silence: 'No new occurrence',
  muted: 'Group muted',
}

function summaryOf(message: AlertMessage): string {
  const { status, kind, count, newCount, since, lastSeenAt, at, resolvedBy = 'recovery', facts } = message
  if (kind === 'digest' || status === 'firing') return facts.summary
  const times = count === 1 ? 'once' : `${count} times`
  if (status === 'update')
    return `${newCount} more, ${count} in total in ${spanText(at - since)}. Latest: ${facts.summary}`
  const lasted = spanText((resolvedBy === 'silence' ? lastSeenAt : at) - since)
  return `${ENDED[resolvedBy]}. Occurred ${times}${count === 1 && resolvedBy === 'silence' ? '' : ` in ${lasted}`}. Last: ${facts.summary}`
}

/** Undefined fields are left out, in the failed event too: a payload is JSON. */
function withoutGaps<T extends object>(document: T): T {
  return JSON.parse(JSON.stringify(document)) as T
}

/** The alert that an event carries; undefined for every other event, and for what only looks like one. */
export function alertOf({
  type,
  payload,
}: Pick<LazaretEvent, 'type' | 'payload'>): AlertDocument | undefined {
  if (type !== ALERT_EVENT_TYPE || !isPlainObject(payload)) return undefined
  // isAlert() has looked at the fields by name, which TypeScript cannot follow.
  return isAlert(payload) ? (payload as unknown as AlertDocument) : undefined
}

const TEXTS = ['key', 'title', 'summary', 'since', 'lastSeenAt', 'at'] as const
const NUMBERS = ['count', 'newCount', 'durationMs'] as const
const STATUSES: readonly unknown[] = ['firing', 'update', 'resolved'] satisfies AlertStatus[]

function isAlert(payload: Readonly<Record<string, unknown>>): boolean {
  const { v, status, kind, severity, links } = payload
  return (
    v === 1 &&
    STATUSES.includes(status) &&
    (ALERT_KINDS as readonly unknown[]).includes(kind) &&
    (ALERT_SEVERITIES as readonly unknown[]).includes(severity) &&
    TEXTS.every(name => typeof payload[name] === 'string') &&
    NUMBERS.every(name => typeof payload[name] === 'number') &&
    Array.isArray(links) &&
    links.every(isLink)
  )
}

function isLink(value: unknown): value is AlertLink {
  return isPlainObject(value) && typeof value['text'] === 'string' && typeof value['href'] === 'string'
}
