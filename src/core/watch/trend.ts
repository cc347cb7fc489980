/** Where a channel's depth is going. `unknown`: too few snapshots to say. */
export type Trend = 'rising' | 'falling' | 'stable' | 'unknown'

/** With fewer, one odd snapshot would be half of what is known. */
const FEWEST_FOR_TREND = 3

/**
 * The later half against the earlier half, so that a single snapshot does not decide. Of an odd number the one in the
 * middle belongs to neither. `stableWithin` is a share of the earlier half; from nothing to anything is a rise.
 */
export function trendOf(depths: readonly number[], stableWithin: number): Trend {
  if (depths.length < FEWEST_FOR_TREND) return 'unknown'
  const half = Math.floor(depths.length / 2)
  const earlier = sum(depths.slice(0, half))
  const later = sum(depths.slice(-half))
  const band = earlier * stableWithin
  if (later - earlier > band) return 'rising'
  if (earlier - later > band) return 'falling'
  return 'stable'
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
