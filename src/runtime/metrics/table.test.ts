import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { METRICS } from '../../core/metrics/table.ts'
import { createMetrics } from './create-metrics.ts'

/** As they are promised to the outside, where rules and dashboards name them. */
const PROMISED = `
events_processed_total{channel,outcome} · handler_duration_seconds{channel} · retry_attempts_total{name} ·
retry_successes_total{name} · retry_exhausted_total{name} · retry_permanent_failures_total{name,error_class} ·
retry_delay_seconds{name} · retry_limiter_allowed_total{name} · retry_limiter_limited_total{name,action} ·
consumer_lag{channel,name} · retry_queue_size{name} · retry_dropped_total{name,reason} · retry_batches_total{name} · breaker_state{name} ·
breaker_opened_total{name} · breaker_closed_total{name} · breaker_rejected_total{name} ·
dlq_saved_total{channel,name,reason,error_class} · dlq_replayed_total{channel,name} · dlq_replay_failed_total{channel} ·
dlq_filtered_total{channel} · dlq_write_errors_total{channel} · dlq_expired_total{state} · outbox_removed_total{broker,unit} · dlq_size{channel,name} · dlq_oldest_age_seconds{channel} ·
attempts_before_dlq{channel} · rate_limiter_limited_total{type} · rate_limiter_dlq_saved_total{type} ·
rate_limiter_dropped_total{type} · tracking_failures_swallowed_total{error_class,context} · tracked_in_job_total{job} ·
dlq_from_job_total{job,reason} · health_checks_total{name,result} · dispatch_success_ratio · poison_quarantined_total{channel,category} ·
replay_outcomes_total{outcome} · automatic_replay_outcomes_total{outcome}`
  .split('·')
  .map(each => each.trim())

function written(name: string, labels: readonly string[]): string {
  return labels.length === 0 ? name : `${name}{${labels}}`
}

it('E20: every metric that is promised is there, by its name and labels, and no other', async () => {
  const read = await createMetrics().read()
  expect(read.map(({ name, labelNames }) => written(name, labelNames)).sort()).toEqual([...PROMISED].sort())
})

it('E20: the reference has a row for each, with its type', () => {
  const page = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+(?:\{[\w,]+\})?)` \| (\w+) \| (.+) \|$/gm)]
  const documented = rows.map(([, metric, type]) => `${metric} ${type}`)
  const expected = Object.entries(METRICS).map(
    ([name, { labels, type }]) => `${written(name, labels)} ${type}`,
  )
  expect(documented.sort()).toEqual(expected.sort())
})

it('E20: counters end in _total, and nothing else does', () => {
  for (const [name, { type, help }] of Object.entries(METRICS)) {
    expect(name.endsWith('_total'), name).toBe(type === 'counter')
    expect(help, name).toMatch(/^[A-Z0-9].*\.$/)
  }
})
