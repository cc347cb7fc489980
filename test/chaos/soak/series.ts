import type { Line, Sample, StoreName } from './plan.ts'
import { type Point, type Trend, trendOf } from './trend.ts'

const MB = 1_000_000

export interface Series {
  readonly name: string
  readonly unit: 'MB' | 'ms' | ''
  /** A growth of this much is never called one: a page of memory, a pool with one connection more. */
  readonly tolerance: number
  readonly of: (sample: Sample) => number | undefined
}

/** What must be flat. */
export const SERIES = {
  heap: { name: 'heap after a collection', unit: 'MB', tolerance: 1, of: sample => sample.heapBytes / MB },
  rss: { name: 'resident memory', unit: 'MB', tolerance: 10, of: sample => sample.rssBytes / MB },
  descriptors: { name: 'open descriptors', unit: '', tolerance: 3, of: sample => sample.descriptors },
  handles: { name: 'active handles', unit: '', tolerance: 3, of: sample => sample.handles },
  size: {
    name: 'files of the store',
    unit: 'MB',
    tolerance: 1,
    of: ({ storeBytes }) => (storeBytes === undefined ? undefined : storeBytes / MB),
  },
  delay: { name: 'loop delay p99', unit: 'ms', tolerance: 20, of: sample => sample.loopDelayMs },
} as const satisfies Readonly<Record<string, Series>>
type SeriesName = keyof typeof SERIES

/** What the machine does to a process without Lazaret. */
const IDLE: Series = {
  name: 'loop delay p99 of an idle process',
  unit: 'ms',
  tolerance: SERIES.delay.tolerance,
  of: sample => sample.idleLoopDelayMs,
}

export interface JudgedSeries extends Trend {
  readonly series: SeriesName
  /** It rises, and the machine is not the reason. */
  readonly hasFailed: boolean
}

export function samplesOf(lines: readonly Line[], store: StoreName): Sample[] {
  return lines.filter((line): line is Sample => line.store === store && 'load' in line)
}

export function pointsOf(samples: readonly Sample[], { of }: Series): Point[] {
  return samples.flatMap(sample => {
    const value = of(sample)
    return value === undefined ? [] : [{ atMs: sample.atMs, value }]
  })
}

export function judge(samples: readonly Sample[]): JudgedSeries[] {
  const isMachineSlower = trendOf(pointsOf(samples, IDLE), IDLE.tolerance).verdict === 'rising'
  return Object.entries(SERIES).map(([name, series]) => {
    const trend = trendOf(pointsOf(samples, series), series.tolerance)
    const isExcused = name === 'delay' && isMachineSlower
    return { series: name as SeriesName, ...trend, hasFailed: trend.verdict === 'rising' && !isExcused }
  })
}
