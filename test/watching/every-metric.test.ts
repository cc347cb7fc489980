import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { createDemoServer } from '../../src/cli/demo/demo-server.ts'
import { simulateHistory } from '../../src/demo/history/simulate-history.ts'
import { type Demo, openDemo } from '../../src/demo/open-demo.ts'
import type { ShopStore } from '../../src/demo/shop.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { HOME } from '../support/server-world.ts'
import { EventLog } from './event-log.ts'
import { COUNTERS, GAUGES, HISTOGRAMS, type Standing, WATCHED } from './expected.ts'
import { parseScrape, type Scraped, series } from './scrape.ts'

/** As they are promised outside, with their labels. */
const SURFACE = `
  events_processed_total{channel,outcome} handler_duration_seconds{channel} retry_attempts_total{name}
  retry_successes_total{name} retry_exhausted_total{name} retry_permanent_failures_total{name,error_class}
  retry_delay_seconds{name} retry_limiter_allowed_total{name} retry_limiter_limited_total{name,action}
  consumer_lag{channel,name} retry_queue_size{name} retry_dropped_total{name,reason} retry_batches_total{name} breaker_state{name}
  breaker_opened_total{name} breaker_closed_total{name} breaker_rejected_total{name}
  dlq_saved_total{channel,name,reason,error_class} dlq_replayed_total{channel,name} dlq_replay_failed_total{channel}
  dlq_filtered_total{channel} dlq_write_errors_total{channel} dlq_expired_total{state} dlq_size{channel,name} dlq_oldest_age_seconds{channel}
  outbox_removed_total{broker,unit}
  attempts_before_dlq{channel} rate_limiter_limited_total{type} rate_limiter_dlq_saved_total{type}
  rate_limiter_dropped_total{type} tracking_failures_swallowed_total{error_class,context}
  tracked_in_job_total{job} dlq_from_job_total{job,reason} health_checks_total{name,result}
  dispatch_success_ratio poison_quarantined_total{channel,category} replay_outcomes_total{outcome}
  automatic_replay_outcomes_total{outcome}`
  .trim()
  .split(/\s+/)
  .map(metric => {
    const [name = '', labels = ''] = metric.replace('}', '').split('{')
    return { name, labels: labels.split(',').filter(label => label !== '') }
  })

/** What was to be seen at one moment of the scenario: the scrape, and beside it what it has to say. */
interface Look {
  readonly scrape: ReadonlyMap<string, Scraped>
  readonly counters: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly histograms: ReadonlyMap<string, ReturnType<(typeof HISTOGRAMS)[string]>>
  readonly gauges: ReadonlyMap<string, ReadonlyMap<string, number>>
}

const log = new EventLog(WATCHED)
const clock = new FakeClock()
const store = memoryStore({ clock }) as ShopStore
let demo: Demo
/** While analytics fails, and when the whole story is over. */
let midway: Look
let atTheEnd: Look
beforeAll(async () => {
  const history = await simulateHistory(clock.now(), 1)
  demo = await openDemo({ store, clock, seed: 1, history, observer: log.observer })
  await demo.start()
  await clock.advance(17_000)
  midway = await look()
  await clock.advance(43_000)
  atTheEnd = await look()
})
afterAll(async () => {
  const closed = demo.close()
  await clock.advance(10_000)
  await closed
})

async function look(): Promise<Look> {
  const server = createDemoServer({ store, demo, clock, tokens: [], onError: () => {} })
  const response = await server.fetch(
    new Request(`${HOME}/metrics`, { headers: { host: new URL(HOME).host } }),
  )
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const scrape = parseScrape(await response.text())
  const standing = await stands()
  await server.close()
  return {
    scrape,
    counters: mapped(COUNTERS, (name, of) => named(name, of(log))),
    histograms: mapped(HISTOGRAMS, (_, of) => of(log)),
    gauges: mapped(GAUGES, (name, of) => named(name, of(standing, log))),
  }
}

async function stands(): Promise<Standing> {
  return {
    now: clock.now(),
    consumers: demo.consumers.map(consumer => consumer.health()),
    lags: await Promise.all(demo.consumers.map(consumer => consumer.lag())),
    dispatcher: demo.dispatchers[0]!.health(),
    letters: (await store.deadLetters.list({ limit: 1_000 })).letters,
  }
}

function mapped<T, R>(of: Readonly<Record<string, T>>, make: (name: string, each: T) => R): Map<string, R> {
  return new Map(Object.entries(of).map(([name, each]) => [name, make(name, each)]))
}

function named(name: string, values: readonly (readonly [Readonly<Record<string, string>>, number])[]) {
  return new Map(values.map(([labels, value]) => [series(`lazaret_${name}`, labels), value]))
}

function found({ scrape }: Look, name: string): Scraped {
  const family = scrape.get(`lazaret_${name}`)
  if (family === undefined) throw new Error(`no lazaret_${name} in the scrape`)
  return family
}

const sorted = (values: ReadonlyMap<string, number>) => Object.fromEntries([...values].sort())
const MOMENTS = [
  ['while analytics is sick', () => midway],
  ['after the story', () => atTheEnd],
] as const

describe.each(MOMENTS)('E20/K6/P4: a scrape of the demo %s', (_, moment) => {
  it.each(Object.keys(COUNTERS))('counts %s as the event log does', name => {
    const { type, samples } = found(moment(), name)
    expect(type).toBe('counter')
    expect(sorted(samples)).toEqual(sorted(moment().counters.get(name)!))
  })

  it.each(Object.keys(GAUGES))('shows %s as it stands', name => {
    const { type, samples } = found(moment(), name)
    expect(type).toBe('gauge')
    expect(sorted(samples)).toEqual(sorted(moment().gauges.get(name)!))
  })

  it.each(Object.keys(HISTOGRAMS))('spreads %s as the event log does', name => {
    const { type, samples } = found(moment(), name)
    expect(type).toBe('histogram')
    const whole = `lazaret_${name}`
    const bounds = boundsOf(samples)
    expect(bounds).toEqual(bounds.toSorted((a, b) => a - b))
    expect(bounds.at(-1)).toBe(Number.POSITIVE_INFINITY)
    const told = moment()
      .histograms.get(name)!
      .flatMap(([labels, values]) => [
        ...bounds.map((le): [string, number] => [
          series(`${whole}_bucket`, { ...labels, le: le === Number.POSITIVE_INFINITY ? '+Inf' : String(le) }),
          values.filter(value => value <= le).length,
        ]),
        [series(`${whole}_count`, labels), values.length] as const,
        [series(`${whole}_sum`, labels), values.reduce((sum, value) => sum + value, 0)] as const,
      ])
    expect(sorted(samples)).toEqual(sorted(new Map(told)))
  })
})

function boundsOf(samples: ReadonlyMap<string, number>): number[] {
  const bounds = [...samples.keys()].flatMap(sample => /le="([^"]+)"/.exec(sample)?.[1] ?? [])
  return [...new Set(bounds)].map(le => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)))
}

describe('E20/K6/P4: after the scenario', () => {
  it('every documented metric is there, and no other', () => {
    const promised = SURFACE.map(({ name }) => name)
    expect(promised.toSorted()).toEqual(
      [COUNTERS, HISTOGRAMS, GAUGES].flatMap(each => Object.keys(each)).toSorted(),
    )
    expect([...atTheEnd.scrape.keys()].toSorted()).toEqual(promised.map(name => `lazaret_${name}`).toSorted())
  })

  // The story is over long before retention deletes anything, and has no automatic replay. Their tests see them counted:
  // src/server/work/schedules.test.ts, src/adapters/postgres/broker/delivered.int.test.ts, src/replay/start-automatic.test.ts.
  it.each(
    SURFACE.filter(
      ({ name }) =>
        !['dlq_expired_total', 'outbox_removed_total', 'automatic_replay_outcomes_total'].includes(name),
    ),
  )('$name has something to say, with the labels $labels', ({ name, labels }) => {
    const samples = [...found(atTheEnd, name).samples]
    const isCounted = !(name in GAUGES)
    expect(samples.some(([, value]) => (isCounted ? value > 0 : Number.isFinite(value)))).toBe(true)
    for (const [sample] of samples) {
      const own = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label).filter(label => label !== 'le')
      expect(own.toSorted(), sample).toEqual(labels.toSorted())
    }
  })

  it('the log agrees with the events of the sinks and the letters of the store', async () => {
    const { dispatcher, letters } = await stands()
    const delivered = Object.values(dispatcher.sinks).reduce((sum, sink) => sum + sink.delivered, 0)
    const gaveUp = Object.values(dispatcher.sinks).reduce((sum, sink) => sum + sink.gaveUp, 0)
    expect(log.all('batchWritten').reduce((sum, { count }) => sum + count, 0)).toBe(delivered)
    expect(log.all('undelivered')).toHaveLength(gaveUp)
    const saved = new Set(log.all('letterSaved').map(({ letter }) => letter.id))
    const today = letters.filter(({ createdAt }) => createdAt > clock.now() - 60_000)
    expect(new Set(today.map(({ id }) => id))).toEqual(saved)
    const ended = letters.filter(({ state, id }) => state === 'resolved' && saved.has(id))
    const recovered = log.all('replayOutcome').filter(({ outcome }) => outcome === 'recovered')
    expect(recovered).toHaveLength(ended.length)
  })
})
