const STEPS: readonly (readonly [unit: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
]

/** `3d4h`, `5m`, `2.5s`, `12ms`: at most two units. */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`
  if (ms < 60_000) return `${Math.round(ms / 100) / 10}s`
  const index = STEPS.findIndex(([, step]) => ms >= step)
  const [unit, step] = STEPS[index]!
  const whole = Math.floor(ms / step)
  const [smallerUnit, smaller] = STEPS[index + 1]!
  const rest = Math.floor((ms - whole * step) / smaller)
  return rest === 0 || whole >= 10 ? `${whole}${unit}` : `${whole}${unit}${rest}${smallerUnit}`
}

/** `5m ago`, `in 2h`, `now`. */
export function relative(at: number, now: number): string {
  const ms = Math.floor(Math.abs(now - at) / 1_000) * 1_000
  if (ms < 1_000) return 'now'
  return at <= now ? `${spanText(ms)} ago` : `in ${spanText(ms)}`
}

export function iso(at: number): string {
  return new Date(at).toISOString()
}

/** The exact time for searching, and the relative time for reading. */
export function isoAndRelative(at: number, now: number): string {
  return `${iso(at)} (${relative(at, now)})`
}
