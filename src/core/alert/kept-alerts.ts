import { isPlainObject } from '../event/plain.ts'
import { ALERT_SEVERITIES, type AlertKind, type OpenAlert } from './alert.ts'

/**
 * The alerts that a notifier keeps over a restart: those that its own process reports. The server knows from its store
 * which alerts about channels, groups, replays and retention were told.
 */
const KEPT_KINDS: readonly AlertKind[] = [
  'dead_letter',
  'poison_quarantined',
  'breaker_opened',
  'letters_spilled',
  'alert_undelivered',
]

/** The text that is kept. It has masked texts only, as the alerts have. */
export function keptAlertsText(open: Iterable<OpenAlert>): string {
  const alerts = [...open].filter(({ kind, phase }) => KEPT_KINDS.includes(kind) && phase.is !== 'digested')
  return JSON.stringify({ v: 1, alerts })
}

/** Reads what was kept. An alert that cannot be read is left out: the text may be of another version, or damaged. */
export function readKeptAlerts(text: string): readonly OpenAlert[] {
  let kept: unknown
  try {
    kept = JSON.parse(text)
  } catch {
    return []
  }
  if (!isPlainObject(kept) || kept['v'] !== 1 || !Array.isArray(kept['alerts'])) return []
  return kept['alerts'].filter(isOpenAlert)
}

const NUMBERS = ['since', 'lastSeenAt', 'factsAt', 'toldAt', 'count', 'untold'] as const
const ENDS: readonly unknown[] = ['recovery', 'silence', 'muted']

function isOpenAlert(value: unknown): value is OpenAlert {
  if (!isPlainObject(value)) return false
  const { key, kind, severity, facts, phase } = value
  return (
    typeof key === 'string' &&
    (KEPT_KINDS as readonly unknown[]).includes(kind) &&
    (ALERT_SEVERITIES as readonly unknown[]).includes(severity) &&
    isPlainObject(facts) &&
    typeof facts['title'] === 'string' &&
    typeof facts['summary'] === 'string' &&
    isPlainObject(phase) &&
    (phase['is'] === 'told' || (phase['is'] === 'over' && ENDS.includes(phase['by']))) &&
    NUMBERS.every(name => Number.isFinite(value[name]))
  )
}
