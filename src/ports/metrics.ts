import type { Observer } from './observer.ts'

/** One series of a counter or a gauge. */
export interface NumberSample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** One series of a histogram. */
export interface HistogramSample {
  readonly labels: Readonly<Record<string, string>>
  /** How many were at most so large, smallest bound first; the last bound is infinity, its count is `count`. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[]
  readonly sum: number
  readonly count: number
}

interface FamilyHead {
  /** Without the prefix: `events_processed_total`. */
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
}

export type MetricFamily =
  | (FamilyHead & { readonly type: 'counter' | 'gauge'; readonly samples: readonly NumberSample[] })
  | (FamilyHead & { readonly type: 'histogram'; readonly samples: readonly HistogramSample[] })

/** What a gauge shows at the moment. */
export interface GaugeReading {
  /** Without the prefix. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Everything that is counted, in plain numbers.
 *
 * - `observer` is what counts: it is given to consumers, dispatchers, protected functions and replays.
 * - `read` tells where all of it stands, every family also before it has a series. Counters only ever go up. It never
 *   rejects: a gauge that cannot be read at the moment has no series. Reading changes nothing.
 * - The values of every label are bounded: past the limit they are all told as one, so that neither a scrape nor the
 *   process grows with what others send.
 */
export interface Metrics {
  readonly observer: Observer
  read(): Promise<readonly MetricFamily[]>
}
