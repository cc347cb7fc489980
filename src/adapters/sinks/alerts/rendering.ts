import type { AlertSeverity, AlertStatus } from '../../../core/alert/alert.ts'
import { type AlertDocument, type AlertLink, alertOf } from '../../../core/alert/document.ts'
import { timeText } from '../../../core/event/attributes.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { isPlainObject } from '../../../core/event/plain.ts'
import { type Severity, severityOf } from '../severity.ts'

/** The texts of an event for people, before a sink writes them in the format of its receiver. */
export interface Rendered {
  /** Undefined for an event that is not an alert. It has neither begin nor end. */
  readonly alert: AlertDocument | undefined
  readonly severity: AlertSeverity
  readonly title: string
  readonly summary: string
  /** A few short facts, the most useful first. */
  readonly facts: readonly (readonly [name: string, value: string])[]
  readonly lastError: string | undefined
  readonly links: readonly AlertLink[]
}

const SEVERITY_OF: Readonly<Record<Severity, AlertSeverity>> = {
  trace: 'info',
  debug: 'info',
  info: 'info',
  warn: 'warning',
  error: 'error',
  fatal: 'critical',
}

/** An alert with all that it says; of any other event the envelope, and of its payload the `message` alone. */
export function render(event: LazaretEvent): Rendered {
  const alert = alertOf(event)
  return alert === undefined ? renderPlain(event) : renderAlert(alert)
}

function renderAlert(alert: AlertDocument): Rendered {
  const { severity, title, summary, failed, links } = alert
  return {
    alert,
    severity,
    title,
    summary,
    facts: known([
      ['Service', alert.service],
      ['Channel', alert.channel],
      ['Breaker', alert.breaker],
      ['Replay', alert.replay],
      ['Handler', failed?.handler],
      ['Event', failed?.eventId],
      ['Type', failed?.type],
      ['Source', failed?.source],
      ['Target', failed?.target ?? alert.target],
      ['Attempts', failed && String(failed.attempts)],
      ['Reason', failed?.reason],
    ]),
    lastError: failed?.lastError,
    links,
  }
}

function renderPlain(event: LazaretEvent): Rendered {
  const { id, type, channel, key, source, occurredAt, payload } = event
  const message = isPlainObject(payload) ? payload['message'] : undefined
  return {
    alert: undefined,
    severity: SEVERITY_OF[severityOf(event)],
    title: type,
    summary: typeof message === 'string' ? message : '',
    facts: known([
      ['Event', id],
      ['Channel', channel],
      ['Key', key],
      ['Source', source],
      ['Occurred', timeText(occurredAt)],
    ]),
    lastError: undefined,
    links: [],
  }
}

const STATUS_WORDS: Readonly<Record<AlertStatus, string>> = {
  firing: 'Firing',
  update: 'Still firing',
  resolved: 'Resolved',
}

/** One line, for people who see nothing else of the event. */
export function headline({ alert, title }: Rendered): string {
  const line = alert === undefined ? title : `${STATUS_WORDS[alert.status]}: ${title}`
  return line.replace(/\s+/g, ' ')
}

/** The number of occurrences and the first time; empty for an event that is not an alert. */
export function countLine({ alert }: Rendered): string | undefined {
  if (alert === undefined) return undefined
  const { count, since, kind, alerts } = alert
  const what = kind === 'digest' && alerts !== undefined ? `${alerts} alerts, ${count} notices` : `${count} ×`
  return `${what} since ${since}`
}

function known(
  facts: readonly (readonly [string, string | undefined])[],
): readonly (readonly [string, string])[] {
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== '')
}

/** Cuts the text to the length, with a mark at the end. */
export function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).toWellFormed()}…`
}
