import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import { memorySink } from '../../../adapters/memory/sink.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { sleep } from '../../sleep.ts'
import { createDispatcher } from '../dispatcher.ts'
import type { DispatcherOptions } from '../dispatcher-options.ts'
import type { TrackInput } from './track-input.ts'
import type { TrackResult } from './track-result.ts'
import { asJob } from './tracking-mode.ts'

function setUp(options: Partial<DispatcherOptions>, sinks: Record<string, Sink> = {}) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const sink = memorySink()
  const deadLetters = memoryDeadLetters()
  const { observer } = recorder
  const events = createDispatcher({ sinks: { sink, ...sinks }, deadLetters, clock, observer, ...options })
  const track = async (...inputs: readonly TrackInput[]): Promise<TrackResult[]> => {
    const tracked = Promise.all(inputs.map(input => events.track(input)))
    await clock.advance(0)
    return tracked
  }
  return { clock, recorder, sink, deadLetters, events, track }
}

const many = (count: number, input: TrackInput) => Array.from({ length: count }, () => input)

describe('the entry limit', () => {
  it('E14: of 1500 critical events at once against 1000 a second, 1000 are delivered and 500 are letters', async () => {
    const { track, sink, deadLetters, recorder, clock } = setUp({
      rateLimit: { perSecond: 1_000 },
      critical: () => true,
      filter: { always: ['payment.*'] },
    })
    const results = await track(...many(1_500, { type: 'payment.failed' }))
    expect(sink.count).toBe(1_000)
    const { letters } = await deadLetters.list({ limit: 1_000 })
    expect(letters).toHaveLength(500)
    expect(new Set([...sink.events.map(({ id }) => id), ...letters.map(({ event }) => event.id)]).size).toBe(
      1_500,
    )
    expect(letters[0]).toMatchObject({
      handler: '*',
      cycle: { reason: 'rate_limited' },
      detail: { limit: 1_000, limitedAt: clock.now() },
    })
    expect(results.filter(({ sinks }) => sinks['sink']?.outcome === 'dead_lettered')).toHaveLength(500)
    expect(recorder.of('eventLimited').filter(({ became }) => became === 'saved')).toHaveLength(500)
  })

  it('E14: what the filter does not keep is counted as dropped, and being limited is never thrown', async () => {
    const { track, deadLetters, recorder } = setUp({
      rateLimit: { perSecond: 1 },
      filter: { never: ['health_check.*'] },
    })
    const [, limited] = await track(...many(2, { type: 'health_check.ok' }))
    expect(limited?.sinks['sink']).toEqual({ outcome: 'dropped', reason: 'rate_limited' })
    expect((await deadLetters.stats()).count).toBe(0)
    expect(recorder.of('eventLimited')).toEqual([{ type: 'health_check.ok', became: 'dropped' }])
  })

  it('E12: never beats always beats saveIf, and the function sees the whole event', async () => {
    const seen: unknown[] = []
    const { track, deadLetters } = setUp({
      rateLimit: { perSecond: 1 },
      filter: {
        never: [/^debug\./],
        always: ['*.paid', 'debug.paid'],
        saveIf: subject => {
          seen.push(subject.payload)
          return (subject.payload as { amount: number }).amount > 10
        },
      },
    })
    const others = [5, 50].map(amount => ({ type: 'other', payload: { amount } }))
    await track({ type: 'first' }, { type: 'debug.paid' }, { type: 'order.paid' }, ...others)
    const kept = (await deadLetters.list()).letters.map(({ event }) => [event.type, event.payload])
    expect(kept.sort()).toEqual([
      ['order.paid', null],
      ['other', { amount: 50 }],
    ])
    expect(seen).toEqual([{ amount: 5 }, { amount: 50 }])
  })

  it('R9: the filter keeps only what the rate limit refused, in a job too', async () => {
    const down: Sink = { write: () => Promise.reject(new Error('down')) }
    const seen: unknown[] = []
    const { clock, events, deadLetters } = setUp({
      sinks: { down },
      rateLimit: { perSecond: 1, burst: 1 },
      retry: { attempts: 2, backoff: fixed({ delayMs: 100 }) },
      filter: {
        saveIf: ({ name, reason, limit }) => {
          seen.push([name, reason, limit])
          return limit === 'rateLimit'
        },
      },
    })
    const tracked = [
      events.track({ type: 'retried' }),
      events.track({ type: 'refused' }),
      asJob('Nightly', () => events.track({ type: 'refused_in_job' })),
    ].map(each => each.catch(() => {}))
    await clock.advance(1_100)
    const job = asJob('Nightly', () => events.track({ type: 'retried_in_job' }))
    await clock.advance(900)
    const failed = events.track({ type: 'exhausted', severity: 'error' }).catch(() => {})
    await clock.advance(1_000)
    await Promise.all([...tracked, job, failed])
    expect(seen).toEqual([
      ['refused', 'rate_limited', 'rateLimit'],
      ['refused_in_job', 'rate_limited', 'rateLimit'],
      ['retried', 'rate_limited', 'rateLimit'],
      ['retried_in_job', 'tracking_failed_in_job', 'rateLimit'],
      ['exhausted', 'attempts_exhausted', undefined],
    ])
    const kept = (await deadLetters.list()).letters.map(({ event }) => event.type)
    expect(kept.sort()).toEqual(['refused', 'refused_in_job', 'retried', 'retried_in_job'])
  })

  it('E15: severity, name pattern and a function that sees the event let it past, and do not count', async () => {
    const when = (event: unknown) => {
      const { payload } = event as LazaretEvent<{ amount?: number } | null>
      return (payload?.amount ?? 0) > 10_000
    }
    const { track, sink, deadLetters } = setUp({
      rateLimit: { perSecond: 1, bypass: { types: ['audit.*'], when } },
    })
    await track(
      ...many(5, { type: 'a', severity: 'fatal' }),
      ...many(5, { type: 'audit.login' }),
      ...many(5, { type: 'paid', payload: { amount: 10_001 } }),
      { type: 'plain' },
      { type: 'plain' },
    )
    expect(sink.count).toBe(16)
    expect(sink.events[0]?.headers).toEqual({ severity: 'fatal' })
    expect((await deadLetters.stats()).count).toBe(1)
  })

  it('E14: flush waits for the letters of what was not let in', async () => {
    const clock = new FakeClock()
    const saved: string[] = []
    const deadLetters = {
      async send({ event }: { readonly event: LazaretEvent }) {
        await sleep(clock, 1_000)
        saved.push(event.type)
      },
      close: async () => {},
    }
    const { events } = setUp({ rateLimit: { perSecond: 1 }, clock, deadLetters })
    for (const type of ['x', 'y']) void events.track({ type })
    let isFlushed = false
    void events.flush().then(() => {
      isFlushed = true
    })
    await clock.advance(999)
    expect(isFlushed).toBe(false)
    await clock.advance(1)
    expect([isFlushed, saved]).toEqual([true, ['y']])
  })

  it('E14: the letter of the entry limit is resent to every sink', async () => {
    const other = memorySink()
    const { track, sink, deadLetters, events, clock } = setUp({ rateLimit: { perSecond: 1 } }, { other })
    await track({ type: 'x' }, { type: 'y' })
    const [letter] = (await deadLetters.list()).letters
    const resent = events.resend(letter!)
    await clock.advance(0)
    expect((await resent).sinks).toEqual({ sink: { outcome: 'delivered' }, other: { outcome: 'delivered' } })
    expect([sink.count, other.count]).toEqual([2, 2])
    expect((await deadLetters.get(letter!.id))?.state).toBe('resolved')
  })

  it('E3: a retry counts towards the limit, and a limited one takes the dead-letter path, filter included', async () => {
    let writes = 0
    const flaky: Sink = {
      write: async () => {
        writes++
        throw new Error('down')
      },
    }
    const { clock, events, deadLetters, recorder } = setUp(
      {
        rateLimit: { perSecond: 1 },
        retry: { backoff: fixed({ delayMs: 100 }) },
        filter: { never: ['debug'] },
      },
      { flaky },
    )
    const tracked = events.track({ type: 'order' })
    await clock.advance(200)
    expect((await tracked).sinks['flaky']).toMatchObject({ outcome: 'dead_lettered', reason: 'rate_limited' })
    expect(writes).toBe(1)
    expect((await deadLetters.list()).letters).toMatchObject([
      { handler: 'flaky', cycle: { reason: 'rate_limited', attemptCount: 1 }, detail: { limit: 1 } },
    ])
    await clock.advance(1_000)
    const unkept = events.track({ type: 'debug' })
    await clock.advance(200)
    expect((await unkept).sinks['flaky']).toMatchObject({ outcome: 'dropped', reason: 'rate_limited' })
    expect(recorder.count('rateLimited')).toBe(2)
  })
})
