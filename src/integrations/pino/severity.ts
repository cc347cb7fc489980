/** pino's levels; a custom one counts as the highest of these that it reaches. */
const LEVELS = [
  [60, 'fatal'],
  [50, 'error'],
  [40, 'warn'],
  [30, 'info'],
  [20, 'debug'],
  [Number.NEGATIVE_INFINITY, 'trace'],
] as const

/** The severity of a level: a number, or a label if the logger writes labels. */
export function severityOf(level: unknown): string {
  if (typeof level === 'string' && level !== '') return level.slice(0, 50).toLowerCase()
  const value = typeof level === 'number' ? level : 30
  return LEVELS.find(([least]) => value >= least)![1]
}
