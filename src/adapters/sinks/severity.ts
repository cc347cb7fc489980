import type { LazaretEvent } from '../../core/event/event.ts'
import { SEVERITY_HEADER } from '../../core/event/severity.ts'

/** How grave an event is, from the least on. */
export const SEVERITIES = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

/** The severity of an event. */
export type Severity = (typeof SEVERITIES)[number]

/** What loggers, syslog and other systems call them. */
const OTHER_WORDS: Readonly<Record<Severity, readonly string[]>> = {
  trace: ['verbose', 'silly'],
  debug: ['fine'],
  info: ['information', 'informational', 'notice', 'log', 'success'],
  warn: ['warning'],
  error: ['err', 'severe'],
  fatal: ['critical', 'crit', 'alert', 'emergency', 'emerg', 'panic'],
}

const BY_WORD: ReadonlyMap<string, Severity> = new Map(
  SEVERITIES.flatMap(severity =>
    [severity, ...OTHER_WORDS[severity]].map((word): [string, Severity] => [word, severity]),
  ),
)

/** The severity in the words of the code that tracked the event. */
export function severityText(event: LazaretEvent): string | undefined {
  return event.headers[SEVERITY_HEADER]
}

/** An event without a severity, or with one that nobody knows, is information. */
export function severityOf(event: LazaretEvent): Severity {
  return BY_WORD.get(severityText(event)?.toLowerCase() ?? '') ?? 'info'
}
