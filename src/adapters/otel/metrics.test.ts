import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { expect, it } from 'vitest'
import type { MetricFamily, Metrics } from '../../ports/metrics.ts'
import { createMetrics } from '../../runtime/metrics/create-metrics.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { otelMetrics } from './index.ts'

const AN_HOUR_MS = 3_600_000

function counted() {
  let processed = 3
  const families = (): MetricFamily[] => [
    {
      name: 'events_processed_total',
      help: 'Deliveries a consumer is finished with.',
      labelNames: ['channel', 'outcome'],
      type: 'counter',
      samples: [{ labels: { channel: 'orders', outcome: 'done' }, value: processed }],
    },
    { name: 'breaker_state', help: 'State of a breaker.', labelNames: ['name'], type: 'gauge', samples: [] },
    {
      name: 'handler_duration_seconds',
      help: 'How long handlers take.',
      labelNames: ['channel'],
      type: 'histogram',
      samples: [
        {
          labels: { channel: 'orders' },
          buckets: [
            { le: 0.1, count: 2 },
            { le: Number.POSITIVE_INFINITY, count: 3 },
          ],
          sum: 1.25,
          count: 3,
        },
      ],
    },
  ]
  const metrics: Metrics = { observer: {}, read: async () => families() }
  return { metrics, process: (more: number) => (processed += more) }
}

/** What the last reading showed: the points of each instrument. */
function shown(exporter: InMemoryMetricExporter): Record<string, (readonly [unknown, unknown])[]> {
  const latest = exporter
    .getMetrics()
    .at(-1)!
    .scopeMetrics.flatMap(({ metrics }) => metrics)
  return Object.fromEntries(
    latest.map(({ descriptor, dataPoints }) => [
      descriptor.name,
      dataPoints.map(({ value, attributes }) => [value, attributes] as const),
    ]),
  )
}

it('E20: the metrics are read whenever a reader of OpenTelemetry collects, under the same names', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: AN_HOUR_MS })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const { metrics, process } = counted()
  const stop = await otelMetrics(metrics, { meterProvider })
  process(2)
  await meterProvider.forceFlush()
  expect(shown(exporter)).toMatchObject({
    lazaret_events_processed_total: [[5, { channel: 'orders', outcome: 'done' }]],
    lazaret_handler_duration_seconds_bucket: [
      [2, { channel: 'orders', le: '0.1' }],
      [3, { channel: 'orders', le: '+Inf' }],
    ],
    lazaret_handler_duration_seconds_sum: [[1.25, { channel: 'orders' }]],
    lazaret_handler_duration_seconds_count: [[3, { channel: 'orders' }]],
  })
  stop()
  process(1)
  exporter.reset()
  await meterProvider.forceFlush()
  expect(JSON.stringify(exporter.getMetrics())).not.toContain('"value":6')
  await meterProvider.shutdown()
})

it('E20: shows every series of what a service counts, with the values of a scrape', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: AN_HOUR_MS })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const metrics = createMetrics({ clock: new FakeClock() })
  const stop = await otelMetrics(metrics, { meterProvider, prefix: 'shop_' })
  const { observer } = metrics
  for (const outcome of ['done', 'done', 'dead'] as const)
    observer.eventProcessed?.({ channel: 'orders', name: 'bill', outcome, attempts: 1, durationMs: 1 })
  for (const durationMs of [250, 500])
    observer.handlerEnded?.({ channel: 'orders', name: 'bill', attempt: 1, succeeded: true, durationMs })
  observer.breakerChanged?.({ name: 'loki', from: 'closed', to: 'open', at: 0 })
  metrics.watch(() => [{ name: 'dlq_size', labels: { channel: 'orders', name: 'bill' }, value: 4 }])
  await meterProvider.forceFlush()
  const seen = shown(exporter)
  expect(seen).toMatchObject({
    shop_events_processed_total: [
      [2, { channel: 'orders', outcome: 'done' }],
      [1, { channel: 'orders', outcome: 'dead' }],
    ],
    shop_handler_duration_seconds_sum: [[0.75, { channel: 'orders' }]],
    shop_handler_duration_seconds_count: [[2, { channel: 'orders' }]],
    shop_breaker_state: [[2, { name: 'loki' }]],
    shop_breaker_opened_total: [[1, { name: 'loki' }]],
    shop_dlq_size: [[4, { channel: 'orders', name: 'bill' }]],
  })
  const buckets = seen['shop_handler_duration_seconds_bucket']!
  expect(buckets.at(-1)).toEqual([2, { channel: 'orders', le: '+Inf' }])
  const families = await metrics.read()
  const series = families.flatMap(family =>
    family.type === 'histogram'
      ? family.samples.map(({ buckets }) => buckets.length + 2)
      : family.samples.map(() => 1),
  )
  expect(Object.values(seen).flat()).toHaveLength(series.reduce((sum, each) => sum + each, 0))
  stop()
  await meterProvider.shutdown()
})

it('E20: a prefix that no instrument may have is refused, for the SDK would leave the instruments out', async () => {
  const metrics = createMetrics()
  for (const prefix of ['my shop ', '9', 'läden_'])
    await expect(otelMetrics(metrics, { prefix })).rejects.toThrow(/otelMetrics\.prefix/)
  for (const prefix of ['', 'shop.', 'shop/eu-1_']) (await otelMetrics(metrics, { prefix }))()
})
