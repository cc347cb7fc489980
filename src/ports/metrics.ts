import type { MetricFamily } from '../core/metrics/family.ts'
import type { Observer } from './observer.ts'

export type { HistogramSample, MetricFamily, NumberSample } from '../core/metrics/family.ts'

/** The current value of a gauge. */
export interface GaugeReading {
  /** Without the prefix. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * The metrics of a process, in plain numbers.
 *
 * - `observer` counts. Give it to consumers, dispatchers, protected functions and replays.
 * - `read` returns the current values of all families, also of families without a series yet. Counters never decrease. It
 *   never rejects: a gauge that cannot be read now has no series. Reading changes nothing.
 * - The values of every label are bounded. All values past the limit share one series, so that neither a scrape nor the
 *   process grows with values that come from outside.
 */
export interface Metrics {
  readonly observer: Observer
  read(): Promise<readonly MetricFamily[]>
}
