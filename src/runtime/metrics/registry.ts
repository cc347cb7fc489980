import { HistogramCell, NumberCell } from '../../core/metrics/cells.ts'
import type { HistogramSample, NumberSample } from '../../core/metrics/family.ts'
import { type LabelCount, OVERFLOW, Series, type SeriesBound } from '../../core/metrics/series.ts'
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  METRICS,
  type MetricName,
} from '../../core/metrics/table.ts'
import type { GaugeReading } from '../../ports/metrics.ts'

/** Where counters and histograms stand. */
export class MetricRegistry {
  readonly #bound: SeriesBound
  readonly #counters = new Map<CounterName, Series<NumberCell>>()
  readonly #histograms = new Map<HistogramName, Series<HistogramCell>>()

  constructor(bound: SeriesBound) {
    this.#bound = bound
  }

  counter(name: CounterName): Series<NumberCell> {
    const series = this.#counters.get(name) ?? this.#series(name, () => new NumberCell())
    this.#counters.set(name, series)
    return series
  }

  histogram(name: HistogramName): Series<HistogramCell> {
    const { bounds } = METRICS[name]
    const series = this.#histograms.get(name) ?? this.#series(name, () => new HistogramCell(bounds))
    this.#histograms.set(name, series)
    return series
  }

  #series<C>(name: MetricName, make: () => C): Series<C> {
    return new Series(METRICS[name].labels.length as LabelCount, this.#bound, make)
  }

  counts(name: CounterName): NumberSample[] {
    const { labels } = METRICS[name]
    return Array.from(this.counter(name).entries(), ([values, { value }]) => ({
      labels: labelled(labels, values),
      value,
    }))
  }

  distributions(name: HistogramName): HistogramSample[] {
    const { labels } = METRICS[name]
    return Array.from(this.histogram(name).entries(), ([values, cell]) => ({
      labels: labelled(labels, values),
      ...cell.read(),
    }))
  }
}

function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}

/**
 * The readings of one gauge as its series. Several of the same labels are put together, as are those past the limit.
 * Values that are not numbers are left out.
 */
export function gaugeSamples(
  name: GaugeName,
  readings: readonly GaugeReading[],
  bound: SeriesBound,
): NumberSample[] {
  const { together } = METRICS[name]
  const labels: readonly string[] = METRICS[name].labels
  const series = new Series(labels.length as LabelCount, bound, () => ({ value: Number.NaN }))
  // The overflow of one source is that of all.
  for (const reading of readings) {
    if (reading.name !== name || !Number.isFinite(reading.value)) continue
    const cell = series.at(...labels.map(label => reading.labels[label] ?? OVERFLOW))
    cell.value = Number.isNaN(cell.value) ? reading.value : joined(together, cell.value, reading.value)
  }
  return Array.from(series.entries(), ([values, cell]) => ({
    labels: labelled(labels, values),
    value: cell.value,
  }))
}

function joined(together: 'sum' | 'most', a: number, b: number): number {
  return together === 'sum' ? a + b : Math.max(a, b)
}
