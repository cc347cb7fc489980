import type { BatchObservableResult, Meter, Observable } from '@opentelemetry/api'
import type { HistogramSample, MetricFamily, Metrics } from '../../ports/metrics.ts'
import { metrics as metricsApi } from './api.ts'
import { type OtelMetricsOptions, resolveMetrics } from './options.ts'

const SCOPE = 'lazaret'

/** Writes where one family stands. */
interface Instrument {
  readonly observables: readonly Observable[]
  observe(family: MetricFamily, result: BatchObservableResult): void
}

/**
 * Exports all metrics through the API of OpenTelemetry, under their Prometheus names. The metrics are read only when a
 * reader of the SDK collects. The returned function ends the export.
 *
 * The API records a histogram value by value, and Lazaret keeps no single values. So a histogram is exported as its parts: `…_bucket` with the attribute `le`, `…_sum` and `…_count`, each a counter.
 */
export async function otelMetrics(metrics: Metrics, options?: OtelMetricsOptions): Promise<() => void> {
  const { meterProvider = metricsApi.getMeterProvider(), prefix } = resolveMetrics(options)
  const meter = meterProvider.getMeter(SCOPE)
  // Every family is registered, also one without a series yet.
  const families = await metrics.read()
  const instruments = new Map(families.map(family => [family.name, instrumentOf(meter, prefix, family)]))
  const observables = [...instruments.values()].flatMap(instrument => instrument.observables)
  const collect = async (result: BatchObservableResult) => {
    for (const family of await metrics.read()) instruments.get(family.name)?.observe(family, result)
  }
  meter.addBatchObservableCallback(collect, observables)
  return () => meter.removeBatchObservableCallback(collect, observables)
}

function instrumentOf(meter: Meter, prefix: string, family: MetricFamily): Instrument {
  const name = `${prefix}${family.name}`
  const about = { description: family.help }
  if (family.type === 'histogram') return histogramOf(meter, name, about)
  const observable =
    family.type === 'counter'
      ? meter.createObservableCounter(name, about)
      : meter.createObservableGauge(name, about)
  return {
    observables: [observable],
    observe(now, result) {
      if (now.type === 'histogram') return
      for (const { labels, value } of now.samples) result.observe(observable, value, labels)
    },
  }
}

function histogramOf(meter: Meter, name: string, about: { readonly description: string }): Instrument {
  const [bucket, sum, count] = ['bucket', 'sum', 'count'].map(part =>
    meter.createObservableCounter(`${name}_${part}`, about),
  ) as [Observable, Observable, Observable]
  const tell = (sample: HistogramSample, result: BatchObservableResult) => {
    for (const { le, count: upTo } of sample.buckets)
      result.observe(bucket, upTo, { ...sample.labels, le: boundText(le) })
    result.observe(sum, sample.sum, sample.labels)
    result.observe(count, sample.count, sample.labels)
  }
  return {
    observables: [bucket, sum, count],
    observe(now, result) {
      if (now.type === 'histogram') for (const sample of now.samples) tell(sample, result)
    },
  }
}

/** The bound in the notation of Prometheus. */
function boundText(bound: number): string {
  return bound === Number.POSITIVE_INFINITY ? '+Inf' : String(bound)
}
