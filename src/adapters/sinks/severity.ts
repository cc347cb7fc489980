import type { LazaretEvent } from '../../core/event/event.ts'
import { SEVERITY_HEADER } from '../../core/event/severity.ts'

/** The severities of events, in ascending order. */
export const SEVERITIES = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

/** The severity of an event. */
export type Severity = (typeof SEVERITIES)[number]

/** The words of loggers, syslog and other systems for each severity. */
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

/** An event without a severity, or with an unknown one, counts as `info`. */
export function severityOf(event: LazaretEvent): Severity {
  return BY_WORD.get(severityText(event)?.toLowerCase() ?? '') ?? 'info'
}
