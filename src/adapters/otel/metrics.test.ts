import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { expect, it } from 'vitest'
import type { MetricFamily, Metrics } from '../../ports/metrics.ts'
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

it('E20: what is counted is read whenever a reader of OpenTelemetry collects, under the same names', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: AN_HOUR_MS })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const { metrics, process } = counted()
  const stop = await otelMetrics(metrics, { meterProvider })
  process(2)
  await meterProvider.forceFlush()
  const read = () =>
    Object.fromEntries(
      exporter
        .getMetrics()
        .at(-1)!
        .scopeMetrics.flatMap(({ metrics }) => metrics)
        .map(({ descriptor, dataPoints }) => [
          descriptor.name,
          dataPoints.map(({ value, attributes }) => [value, attributes]),
        ]),
    )
  expect(read()).toMatchObject({
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
