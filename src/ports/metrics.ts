import type { MetricFamily } from '../core/metrics/family.ts'
import type { Observer } from './observer.ts'

export type { HistogramSample, MetricFamily, NumberSample } from '../core/metrics/family.ts'

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
