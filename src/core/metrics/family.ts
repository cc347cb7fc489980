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

/** A metric with its samples. */
export type MetricFamily =
  | (FamilyHead & { readonly type: 'counter' | 'gauge'; readonly samples: readonly NumberSample[] })
  | (FamilyHead & { readonly type: 'histogram'; readonly samples: readonly HistogramSample[] })
