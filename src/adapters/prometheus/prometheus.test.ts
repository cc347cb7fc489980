import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { OptionsError } from '../../core/options/faults.ts'
import type { Metrics } from '../../ports/metrics.ts'
import { createMetrics } from '../../runtime/metrics/create-metrics.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { registerMetrics, writeMetrics } from './index.ts'

const NASTY = 'a "quoted" \\ back\\slash\nand a new line, ünïcode 🛟'

/** Something of every type, with labels that need escaping. */
function counted(): Metrics {
  const clock = new FakeClock()
  const metrics = createMetrics({ clock })
  const { observer } = metrics
  for (const channel of ['orders', NASTY]) {
    observer.eventProcessed?.({ channel, name: 'bill', outcome: 'done', attempts: 1, durationMs: 3 })
    for (const durationMs of [1, 70, 3_000_000])
      observer.handlerEnded?.({ channel, name: 'bill', attempt: 1, succeeded: true, durationMs })
    observer.letterSaved?.({ channel, name: 'bill', letter: createFactory({ clock }).letter() })
  }
  observer.breakerChanged?.({ name: 'loki', from: 'closed', to: 'open', at: 0 })
  observer.batchWritten?.({ name: 'loki', count: 1, durationMs: 1 })
  observer.undelivered?.({ name: 'loki', type: 'x', reason: 'permanent' })
  observer.undelivered?.({ name: 'loki', type: 'x', reason: 'permanent' })
  return metrics
}

/** The series of a scrape whatever their order is, and the order of their labels. */
function seriesIn(text: string): string[] {
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [, name, labels = '', value] = /^([^#{ ]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      if (name === undefined) return line
      return `${name}{${[...labels.matchAll(/\w+="(?:[^"\\]|\\.)*"/g)].map(String).sort()}} ${value}`
    })
    .sort()
}

describe('text for Prometheus', () => {
  it('E20: a registry of prom-client writes the same series', async () => {
    const metrics = counted()
    const registry = new Registry()
    registerMetrics(registry, metrics)
    const ours = await writeMetrics(metrics)
    const theirs = await registry.metrics()
    expect(seriesIn(ours)).toEqual(seriesIn(theirs))
    expect(seriesIn(ours).length).toBeGreaterThan(100)
  })

  it('E20: escapes what labels may hold, and writes bounds as Prometheus reads them', async () => {
    const text = await writeMetrics(counted(), { prefix: 'shop_' })
    const label = 'channel="a \\"quoted\\" \\\\ back\\\\slash\\nand a new line, ünïcode 🛟"'
    expect(text).toContain(`shop_events_processed_total{${label},outcome="done"} 1\n`)
    expect(text).toContain('shop_handler_duration_seconds_bucket{channel="orders",le="0.001"} 1\n')
    expect(text).toContain('shop_handler_duration_seconds_bucket{channel="orders",le="+Inf"} 3\n')
    expect(text).toContain('shop_handler_duration_seconds_sum{channel="orders"} 3000.071\n')
    expect(text).toContain('shop_dispatch_success_ratio 0.3333333333333333\n')
    expect(text).toMatch(
      /^# HELP shop_events_processed_total Deliveries .*\n# TYPE shop_events_processed_total counter\n/,
    )
    expect(text.endsWith('\n')).toBe(true)
  })

  it('E20: counters stay counters in a registry that writes OpenMetrics', async () => {
    const registry = new Registry()
    registry.setContentType('application/openmetrics-text; version=1.0.0; charset=utf-8' as never)
    registerMetrics(registry, counted())
    const text = await registry.metrics()
    expect(text).toContain('# TYPE lazaret_events_processed counter\n')
    expect(text).toContain('lazaret_events_processed_total{channel="orders",outcome="done"} 1\n')
    expect(await registry.metrics()).toBe(text)
  })

  it('E20: a scrape reads once for all families, and the next one reads again', async () => {
    const metrics = counted()
    let reads = 0
    const registry = new Registry()
    const read = () => {
      reads++
      return metrics.read()
    }
    registerMetrics(registry, { observer: metrics.observer, read })
    await registry.metrics()
    expect(reads).toBe(1)
    metrics.observer.breakerRejected?.({ name: 'loki' })
    expect(await registry.metrics()).toContain('lazaret_breaker_rejected_total{name="loki"} 1\n')
    expect(reads).toBe(2)
    registry.resetMetrics()
    expect(
      (await registry.getMetricsAsJSON()).find(({ name }) => name === 'lazaret_breaker_state'),
    ).toMatchObject({
      type: 'gauge',
      aggregator: 'max',
    })
  })

  it('E20: beside other metrics of the same registry, by another prefix; the same name twice is refused', () => {
    const registry = new Registry()
    registerMetrics(registry, counted(), { prefix: 'shop_' })
    registerMetrics(registry, counted(), { prefix: '' })
    expect(() => registerMetrics(registry, counted(), { prefix: 'shop_' })).toThrow('already been registered')
  })

  it.each(['9lives_', 'with-dash_', 'rule:', 'ünï_', 7])(
    'E20: a prefix that Prometheus does not take: %s',
    async prefix => {
      const options = { prefix: prefix as string }
      expect(() => registerMetrics(new Registry(), counted(), options)).toThrow(OptionsError)
      await expect(writeMetrics(counted(), options)).rejects.toThrow(/prefix/)
    },
  )
})
