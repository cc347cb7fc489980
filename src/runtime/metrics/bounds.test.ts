import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { classify } from '../../core/failure/classify.ts'
import { metricsText } from '../../core/metrics/exposition.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { createMetrics, type LiveMetrics } from './create-metrics.ts'

const CHANNELS = 10_000
const ERRORS = 1_000
/** What a scrape may have at most, whatever is counted: lines, and characters. */
const MAX_LINES = 16_000
const MAX_CHARACTERS = 2_000_000
const MAX_GROWTH_BYTES = 1_000_000

const clock = new FakeClock()
const letter = createFactory({ clock }).letter({ job: 'SendEmailJob' })
const FAILURES = Array.from({ length: ERRORS }, (_, n) =>
  classify(Object.assign(new Error(`message ${n}`), { name: `Error${n}` })),
)
const REASONS = ['permanent', 'poison', 'expired', 'schema', 'elapsed'] as const

/** Everything there is to count, under names that nobody has seen before. */
function countUnder(metrics: LiveMetrics, n: number): void {
  const { observer } = metrics
  const channel = `channel ${n}`
  const name = `name ${n}`
  const failure = FAILURES[n % ERRORS]!
  const at = { channel, name }
  observer.eventProcessed?.({ ...at, outcome: n % 2 === 0 ? 'done' : 'dead', attempts: 1, durationMs: n })
  observer.handlerEnded?.({ ...at, attempt: 1, succeeded: true, durationMs: n })
  observer.retryScheduled?.({ name, attempt: 2, delayMs: n, delayFrom: 'policy' })
  observer.retrySucceeded?.({ name, attempts: 2 })
  observer.gaveUp?.({ name, attempts: 1, reason: 'permanent', failure })
  observer.gaveUp?.({ name: 'one', attempts: 1, reason: 'permanent', failure })
  observer.gaveUp?.({ name, attempts: 1, reason: 'elapsed', failure })
  observer.retryAllowed?.({ name })
  observer.retryLimited?.({ name, action: 'delay' })
  observer.retryBatchReleased?.({ name, count: 1 })
  observer.breakerChanged?.({ name, from: 'closed', to: 'open', at: 0 })
  observer.breakerChanged?.({ name, from: 'half-open', to: 'closed', at: 0 })
  observer.breakerRejected?.({ name })
  const reason = REASONS[n % REASONS.length]!
  const job = `job ${n}`
  const cycle = { ...letter.cycle, reason, failure: { ...letter.cycle.failure!, name: failure.name } }
  observer.letterSaved?.({ ...at, letter: { ...letter, handler: name, job, cycle } })
  observer.letterFiltered?.({ ...at, reason })
  observer.letterWriteFailed?.({ ...at, error: new Error('down') })
  observer.replaySent?.({ ...at, letterId: '1', replayId: '1' })
  observer.replayOutcome?.({ channel, letterId: '1', outcome: 'failed_again' })
  observer.poisonQuarantined?.({ ...at, by: 'repeats', letter })
  observer.eventLimited?.({ type: `type ${n}`, became: n % 2 === 0 ? 'saved' : 'dropped' })
  observer.eventDropped?.({ name, type: 'x', reason })
  observer.trackedInJob?.({ job })
  observer.trackingFailureSwallowed?.({ job, errorName: failure.name, reason })
  observer.healthChecked?.({ name, healthy: n % 2 === 0 })
  observer.batchWritten?.({ name, count: 1, durationMs: 1 })
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

describe('10 000 channels and 1 000 kinds of error', () => {
  it('E20: do not grow the scrape past its bound, and all of them are counted', async () => {
    const metrics = createMetrics({ clock })
    for (let n = 0; n < CHANNELS; n++) countUnder(metrics, n)
    metrics.watch(() =>
      Array.from({ length: CHANNELS }, (_, n) => ({
        name: 'dlq_size',
        labels: { channel: `channel ${n}`, name: `name ${n}` },
        value: 1,
      })),
    )
    const families = await metrics.read()
    const text = metricsText(families, 'lazaret_')
    expect(text.split('\n').length).toBeLessThan(MAX_LINES)
    expect(text.length).toBeLessThan(MAX_CHARACTERS)
    for (const { name, labelNames, samples } of families) {
      expect(samples.length, name).toBeLessThanOrEqual(labelNames.length < 2 ? 101 : 1_001)
      for (const label of labelNames)
        expect(new Set(samples.map(({ labels }) => labels[label])).size, name).toBeLessThanOrEqual(101)
    }
    const sums = Object.fromEntries(
      families.map(({ name, samples }) => [
        name,
        samples.reduce((sum, each) => sum + ('value' in each ? each.value : each.count), 0),
      ]),
    )
    for (const name of ['events_processed_total', 'dlq_saved_total', 'handler_duration_seconds', 'dlq_size'])
      expect(sums[name], name).toBe(CHANNELS)
    expect(sums['retry_permanent_failures_total']).toBe(2 * CHANNELS)
    const processed = families.find(({ name }) => name === 'events_processed_total')
    expect(processed?.samples).toContainEqual({
      labels: { channel: '(other)', outcome: 'done' },
      value: (CHANNELS - 100) / 2,
    })
  })

  it('E20: do not grow the process', async () => {
    const metrics = createMetrics({ clock })
    for (let n = 0; n < ERRORS; n++) countUnder(metrics, n)
    const before = heapBytes()
    for (let n = ERRORS; n < CHANNELS; n++) countUnder(metrics, n)
    expect(heapBytes() - before).toBeLessThan(MAX_GROWTH_BYTES)
    expect((await metrics.read()).length).toBeGreaterThan(30)
  })

  it('E20: with as many values as allowed, each has its own series', async () => {
    const metrics = createMetrics({ clock, maxLabelValues: 500 })
    for (let n = 0; n < 500; n++) countUnder(metrics, n)
    const saved = (await metrics.read()).find(({ name }) => name === 'dlq_saved_total')
    expect(saved?.samples).toHaveLength(500)
    expect(saved?.samples.some(({ labels }) => labels['channel'] === '(other)')).toBe(false)
  })
})
