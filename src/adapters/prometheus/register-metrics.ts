import type { HistogramSample, MetricFamily } from '../../core/metrics/family.ts'
import { prefixRule } from '../../core/metrics/prefix.ts'
import { METRICS, type MetricName } from '../../core/metrics/table.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import type { Metrics } from '../../ports/metrics.ts'

/** Options of `registerMetrics()`. */
export interface RegisterOptions {
  /** Before every name [lazaret_]. */
  readonly prefix?: string | undefined
}

interface PromValue {
  readonly metricName?: string
  readonly labels: Record<string, string | number>
  readonly value: number
}

/** The members of a metric that a registry of prom-client reads. */
export interface PromMetric {
  /** Not read-only: a registry that writes OpenMetrics removes `_total` from it. */
  name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly aggregator: 'sum' | 'max'
  readonly labelNames: readonly string[]
  get(): Promise<{
    readonly name: string
    readonly help: string
    readonly type: string
    readonly aggregator: string
    readonly values: readonly PromValue[]
  }>
  reset(): void
}

/** A registry of prom-client, as far as it is needed here. */
export interface PromRegistry {
  // biome-ignore lint/suspicious/noExplicitAny: its own type is a union of classes
  registerMetric(metric: any): void
}

/**
 * Puts everything that is counted into a registry of the user's own. It is read when the registry is, once for all of a
 * scrape. Rejected by the registry if it has metrics of these names already.
 */
export function registerMetrics(
  registry: PromRegistry,
  metrics: Metrics,
  options: RegisterOptions = {},
): void {
  const { prefix } = resolveOptions('registerMetrics', { prefix: prefixRule }, options)
  const read = readTogether(metrics)
  for (const name of Object.keys(METRICS) as MetricName[])
    registry.registerMetric(promMetric(name, prefix, read))
}

/** Concurrent readers get the same result. */
function readTogether(metrics: Metrics): () => Promise<readonly MetricFamily[]> {
  let reading: Promise<readonly MetricFamily[]> | undefined
  return () => {
    reading ??= metrics.read().finally(() => {
      reading = undefined
    })
    return reading
  }
}

function promMetric(
  name: MetricName,
  prefix: string,
  read: () => Promise<readonly MetricFamily[]>,
): PromMetric {
  const { type, help, labels } = METRICS[name]
  const together = 'together' in METRICS[name] ? METRICS[name].together : 'sum'
  return {
    name: `${prefix}${name}`,
    help,
    type,
    aggregator: together === 'sum' ? 'sum' : 'max',
    labelNames: labels,
    async get() {
      const family = (await read()).find(each => each.name === name)
      const { aggregator } = this
      return { name: this.name, help, type, aggregator, values: valuesOf(family, `${prefix}${name}`) }
    },
    // Counters only ever go up.
    reset() {},
  }
}

function valuesOf(family: MetricFamily | undefined, name: string): PromValue[] {
  if (family === undefined) return []
  if (family.type === 'histogram') return family.samples.flatMap(sample => histogramValues(sample, name))
  return family.samples.map(({ labels, value }) => ({ labels: { ...labels }, value }))
}

function histogramValues({ labels, buckets, sum, count }: HistogramSample, name: string): PromValue[] {
  return [
    ...buckets.map(({ le, count: upTo }) => ({
      metricName: `${name}_bucket`,
      labels: { ...labels, le: le === Number.POSITIVE_INFINITY ? '+Inf' : le },
      value: upTo,
    })),
    { metricName: `${name}_sum`, labels: { ...labels }, value: sum },
    { metricName: `${name}_count`, labels: { ...labels }, value: count },
  ]
}
