import { durationMs } from '../config/duration.ts'

const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:?\d\d)?)?$/i

/**
 * Parses an ISO 8601 time, or a duration before (`past`) or after (`future`) now, to epoch milliseconds. A time without a
 * zone is UTC, so that a command means the same on every machine.
 */
export function readTime(text: string, now: number, direction: 'past' | 'future'): number | undefined {
  const ms = durationMs(text)
  if (ms !== undefined) return direction === 'past' ? now - ms : now + ms
  if (text === 'now') return now
  const [, day, time = '00:00', zone = 'Z'] = TIME.exec(text) ?? []
  if (day === undefined) return undefined
  const at = Date.parse(`${day}T${time}${zone.toUpperCase()}`)
  // Date.parse takes February 30th for March 2nd.
  const isReal = Number.isFinite(at) && new Date(Date.parse(`${day}T00:00Z`)).toISOString().startsWith(day)
  return isReal ? at : undefined
}
