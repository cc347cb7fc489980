/** A measurement at a time. */
export interface Point {
  readonly atMs: number
  readonly value: number
}

/** Whether a series grows. */
export interface Trend {
  /** `short`: too few points for an answer. */
  readonly verdict: 'flat' | 'falling' | 'rising' | 'short'
  /** The median of the slopes between all pairs of points after the warm-up (Theil and Sen), in units per hour. */
  readonly perHour: number
  /** The medians of the second and the last quarter. */
  readonly second: number
  readonly last: number
  /** How far from the second quarter the last one may be. */
  readonly noise: number
}

const HOUR_MS = 3_600_000
/** A quarter needs some points to have a median and a noise. */
const FEWEST_POINTS = 16
/** From the median absolute deviation to the standard deviation of normal noise. */
const MAD_TO_SIGMA = 1.4826
const SIGMAS = 3

/**
 * The first quarter is the warm-up. A series rises if two signs agree: the median of the last quarter is above that of the
 * second one by more than the noise, and the slope of Theil and Sen would lift it by more than half of the noise from quarter
 * to quarter. The noise is three times the deviation of the second quarter, and at least `tolerance`. Medians do not see the
 * peaks of single faults.
 */
export function trendOf(points: readonly Point[], tolerance: number): Trend {
  if (points.length < FEWEST_POINTS)
    return { verdict: 'short', perHour: 0, second: 0, last: 0, noise: tolerance }
  const quarter = (index: number) =>
    points.slice(Math.floor((index * points.length) / 4), Math.floor(((index + 1) * points.length) / 4))
  const second = median(quarter(1).map(({ value }) => value))
  const deviations = quarter(1).map(({ value }) => Math.abs(value - second))
  const noise = Math.max(tolerance, SIGMAS * MAD_TO_SIGMA * median(deviations))
  const last = median(quarter(3).map(({ value }) => value))
  const warm = points.slice(Math.floor(points.length / 4))
  const perMs = theilSen(warm)
  // From the middle of the second quarter to the middle of the last one.
  const lifted = (perMs * (warm.at(-1)!.atMs - warm[0]!.atMs) * 2) / 3
  return { verdict: verdictOf(last - second, lifted, noise), perHour: perMs * HOUR_MS, second, last, noise }
}

function verdictOf(moved: number, lifted: number, noise: number): Trend['verdict'] {
  if (moved > noise && lifted > noise / 2) return 'rising'
  return moved < -noise && lifted < -noise / 2 ? 'falling' : 'flat'
}

/** The median of the slopes between all pairs. A third of the points may be anything without moving it far. */
function theilSen(points: readonly Point[]): number {
  const slopes: number[] = []
  for (const [index, from] of points.entries())
    for (const to of points.slice(index + 1))
      if (to.atMs > from.atMs) slopes.push((to.value - from.value) / (to.atMs - from.atMs))
  return median(slopes)
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  if (sorted.length === 0) return 0
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
