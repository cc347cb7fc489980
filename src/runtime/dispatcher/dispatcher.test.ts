import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../adapters/memory/letters/dead-letters.ts'
import { memorySink } from '../../adapters/memory/sink.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { Sink } from '../../ports/sink.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Recorder } from '../../testing/recorder.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { createDispatcher } from './dispatcher.ts'
import type { DispatcherOptions } from './dispatcher-options.ts'
import { TrackingError } from './track/track-result.ts'

const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const failing = (error: () => unknown = refused) => ({ write: async () => Promise.reject(error()) })

function setUp<N extends string>(
  sinks: { readonly [name in N]: Sink },
  options: Partial<DispatcherOptions> = {},
) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const events = createDispatcher<N>({
    sinks,
    deadLetters,
    clock,
    random: seededRandom(1),
    observer: recorder.observer,
    ...(options as Partial<DispatcherOptions<N>>),
  })
  const letters = async () => (await deadLetters.list({ limit: 1_000 })).letters
  return { clock, recorder, events, letters, deadLetters }
}

async function ended<T>(clock: FakeClock, promise: Promise<T>, ms = 60_000): Promise<T> {
  promise.catch(() => {})
  await clock.advance(ms)
  return promise
}

describe('fan-out', () => {
  it('E17: every sink gets the event, and the result names each outcome', async () => {
    const loki = memorySink()
    const sentry = memorySink()
    const { clock, events } = setUp({ loki, sentry })
    const result = await ended(clock, events.track({ type: 'order.paid', payload: { orderId: 123 } }))
    expect(result.sinks).toEqual({ loki: { outcome: 'delivered' }, sentry: { outcome: 'delivered' } })
    expect(loki.events).toEqual([result.event])
    expect(sentry.events).toEqual([result.event])
  })

  it('E17: partial success is success; only the failed sink has a letter, in its own name', async () => {
    const loki = memorySink()
    const { clock, events, letters } = setUp({ loki, sentry: failing() })
    const result = await ended(clock, events.track({ type: 'order.paid' }))
    expect(result.sinks.loki).toEqual({ outcome: 'delivered' })
    expect(result.sinks.sentry).toMatchObject({ outcome: 'dead_lettered', reason: 'attempts_exhausted' })
    expect(await letters()).toMatchObject([
      { handler: 'sentry', event: { id: result.event?.id }, cycle: { attemptCount: 4 } },
    ])
  })

  it('E17: when no sink took it, track rejects with the result, after the letters were saved', async () => {
    const { clock, events, letters } = setUp({
      loki: failing(),
      sentry: failing(() => new PermanentError('no')),
    })
    const error = await ended(clock, events.track({ type: 'order.paid' })).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TrackingError)
    expect(error).toMatchObject({
      code: 'LAZARET_TRACKING_FAILED',
      result: { sinks: { loki: { reason: 'attempts_exhausted' }, sentry: { reason: 'permanent' } } },
    })
    expect((await letters()).map(({ handler }) => handler).sort()).toEqual(['loki', 'sentry'])
  })

  it('E17: of a batch only what was rejected is retried, each item by its own failure', async () => {
    const batches: string[][] = []
    const picky: Sink = {
      async write(batch) {
        batches.push(batch.map(event => event.type))
        const rejected = batch.flatMap((event, index) => {
          if (event.type === 'bad') return [{ index, error: new PermanentError('no') }]
          return event.type === 'later' && batches.length === 1 ? [{ index, error: refused() }] : []
        })
        return { rejected }
      },
    }
    const { clock, events, letters } = setUp({ picky }, { retry: { backoff: fixed({ delayMs: 100 }) } })
    const tracked = ['good', 'bad', 'later'].map(type => events.track({ type }).catch(() => 'thrown'))
    await clock.advance(60_000)
    expect(batches).toEqual([['good', 'bad', 'later'], ['later']])
    expect(await Promise.all(tracked)).toMatchObject([{}, 'thrown', {}])
    expect(await letters()).toMatchObject([{ event: { type: 'bad' }, cycle: { reason: 'permanent' } }])
  })

  it('E17: rejected events of one write are retried in one write, with any jitter', async () => {
    const batches: number[] = []
    const picky: Sink = {
      async write(batch) {
        batches.push(batch.length)
        const rejected = batch.map((_, index) => ({ index, error: refused() }))
        return { rejected: batches.length === 1 ? rejected.slice(0, -1) : [] }
      },
    }
    const { clock, events } = setUp({ picky }, { retryLimit: 'off' })
    for (let n = 0; n < 50; n++) void events.track({ type: 'x' }, { wait: 'accepted' })
    await clock.advance(60_000)
    expect(batches).toEqual([50, 49])
  })

  it('E1: overrides hold for one sink and keep what is set for all', async () => {
    const attempts = { loki: 0, sentry: 0 }
    const counting = (name: 'loki' | 'sentry'): Sink => ({
      write: async () => {
        attempts[name]++
        throw refused()
      },
    })
    const { clock, events } = setUp(
      { loki: counting('loki'), sentry: counting('sentry') },
      { breaker: 'off', retry: { attempts: 2 }, overrides: { loki: { retry: { attempts: 6 } } } },
    )
    await ended(clock, events.track({ type: 'x' })).catch(() => {})
    expect(attempts).toEqual({ loki: 6, sentry: 2 })
  })

  it('E17: a letter is resent to its own sink alone, and resolved when that takes it', async () => {
    const loki = memorySink()
    let down = true
    const written: LazaretEvent[] = []
    const sentry: Sink = {
      async write(batch) {
        if (down) throw new PermanentError('no')
        written.push(...batch)
      },
    }
    const { clock, events, letters, deadLetters } = setUp({ loki, sentry })
    await ended(clock, events.track({ type: 'x' }))
    const [letter] = await letters()
    down = false
    await deadLetters.change(letter!.id, { to: 'replaying', at: clock.now() })
    await ended(clock, events.resend((await deadLetters.get(letter!.id))!))
    expect([loki.count, written.length]).toEqual([1, 1])
    expect((await letters()).map(({ state }) => state)).toEqual(['resolved'])
  })
})

describe('batches', () => {
  it('E17: events that are tracked together are written together, up to the batch size', async () => {
    const sink = memorySink()
    const { clock, events } = setUp({ sink }, { batch: { maxCount: 40 } })
    for (let n = 0; n < 100; n++) void events.track({ type: 'x' })
    await clock.advance(0)
    expect(sink.batches.map(batch => batch.length)).toEqual([40, 40, 20])
  })

  it('E17: a batch waits for company no longer than it may, and keeps to its bytes', async () => {
    const sink = memorySink()
    const { clock, events } = setUp({ sink }, { batch: { maxWaitMs: 200, maxBytes: 3_000 } })
    void events.track({ type: 'x' })
    await clock.advance(199)
    expect(sink.batches.length).toBe(0)
    await clock.advance(1)
    expect(sink.batches.length).toBe(1)
    for (let n = 0; n < 3; n++) void events.track({ type: 'x', payload: 'y'.repeat(2_000) })
    await clock.advance(200)
    expect(sink.batches.map(batch => batch.length)).toEqual([1, 1, 1, 1])
  })

  it('E17: flush waits for what was tracked before it, and not for company', async () => {
    const sink = memorySink()
    const { clock, events } = setUp({ sink }, { batch: { maxWaitMs: 60_000 } })
    void events.track({ type: 'x' })
    await ended(clock, events.flush(), 0)
    expect(sink.count).toBe(1)
  })
})
