import { HistogramCell, NumberCell } from '../../core/metrics/cells.ts'
import type { HistogramSample, NumberSample } from '../../core/metrics/family.ts'
import { Series, type SeriesBound } from '../../core/metrics/series.ts'
import { type CounterName, type HistogramName, METRICS, type MetricName } from '../../core/metrics/table.ts'

/** Where counters and histograms stand. */
export class Book {
  readonly #counters = new Map<CounterName, Series<NumberCell>>()
  readonly #histograms = new Map<HistogramName, Series<HistogramCell>>()

  constructor(bound: SeriesBound) {
    for (const name of Object.keys(METRICS) as MetricName[]) {
      const spec = METRICS[name]
      const labels = spec.labels.length as 0 | 1 | 2
      if (spec.type === 'counter')
        this.#counters.set(name as CounterName, new Series(labels, bound, () => new NumberCell()))
      if (spec.type === 'histogram')
        this.#histograms.set(
          name as HistogramName,
          new Series(labels, bound, () => new HistogramCell(spec.bounds)),
        )
    }
  }

  counter(name: CounterName): Series<NumberCell> {
    return this.#counters.get(name)!
  }

  histogram(name: HistogramName): Series<HistogramCell> {
    return this.#histograms.get(name)!
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
