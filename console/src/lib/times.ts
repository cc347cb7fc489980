export type Zone = 'utc' | 'local'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A span in the two units that matter: 850 ms, 4.2 s, 3 min, 2 h 10 min, 5 d. */
export function span(ms: number): string {
  const size = Math.abs(ms)
  if (size < SECOND) return `${Math.round(size)} ms`
  if (size < 10 * SECOND) return `${trim(size / SECOND)} s`
  if (size < MINUTE) return `${Math.floor(size / SECOND)} s`
  if (size < HOUR) return `${Math.floor(size / MINUTE)} min`
  if (size < 10 * HOUR) return two(size, HOUR, 'h', MINUTE, 'min')
  if (size < 2 * DAY) return `${Math.floor(size / HOUR)} h`
  return `${Math.floor(size / DAY)} d`
}

function two(size: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((size % big) / small)
  const first = `${Math.floor(size / big)} ${bigName}`
  return rest === 0 ? first : `${first} ${rest} ${smallName}`
}

function trim(value: number): string {
  return (Math.floor(value * 10) / 10).toString()
}

/** 4 min ago, in 2 h, just now. */
export function relative(at: number, now: number): string {
  const distance = now - at
  if (Math.abs(distance) < 3 * SECOND) return 'just now'
  const rounded = Math.abs(distance) < 10 * SECOND ? Math.round(distance / SECOND) * SECOND : distance
  return distance > 0 ? `${span(rounded)} ago` : `in ${span(rounded)}`
}

/** 2026-05-04 03:12:09.120 UTC, or the same by the clock of this machine with its offset. */
export function absolute(at: number, zone: Zone, precise = false): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return 'no time'
  const text = zone === 'utc' ? date.toISOString() : localIso(date)
  const [day = '', clock = ''] = text.split('T')
  return `${day} ${clock.slice(0, precise ? 12 : 8)} ${zone === 'utc' ? 'UTC' : offset(date)}`
}

/** Only the time of day, for rows that stand under a date. */
export function timeOfDay(at: number, zone: Zone): string {
  return absolute(at, zone, true).split(' ')[1] ?? ''
}

function localIso(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE).toISOString()
}

function offset(date: Date): string {
  const minutes = -date.getTimezoneOffset()
  const pad = (value: number) => String(value).padStart(2, '0')
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '−' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`
}

/**
 * Seconds, minutes, hours or days as people type them: 90s, 15m, 24h, 7d. Undefined when the text is not a duration.
 */
export function readSpan(text: string): number | undefined {
  const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)\s*$/.exec(text) ?? []
  if (amount === undefined || unit === undefined) return undefined
  const size = { ms: 1, s: SECOND, m: MINUTE, min: MINUTE, h: HOUR, d: DAY }[unit] ?? 0
  return Number(amount) * size
}
