import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import { memorySink } from '../../../adapters/memory/sink.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { sleep } from '../../sleep.ts'
import { createDispatcher } from '../dispatcher.ts'
import type { DispatcherOptions } from '../dispatcher-options.ts'

const down: Sink = { write: () => Promise.reject(new Error('down')) }

function setUp(sinks: Record<string, Sink>, options: Partial<DispatcherOptions> = {}) {
  const clock = new FakeClock()
  const deadLetters = memoryDeadLetters()
  const events = createDispatcher({ sinks, deadLetters, clock, ...options })
  const letters = async () => (await deadLetters.list()).letters
  return { clock, events, letters, deadLetters }
}

describe('the edges of a lane', () => {
  it('E16: while a health check probes, events wait for it instead of being given up on', async () => {
    const clock = new FakeClock()
    let isUp = false
    const written: number[] = []
    const sink: Sink = {
      async write() {
        if (!isUp) throw new Error('down')
        written.push(clock.now() - start)
      },
      async probe() {
        await sleep(clock, 1_000)
        if (!isUp) throw new Error('down')
      },
    }
    const deadLetters = memoryDeadLetters()
    const options = { retry: { attempts: 1 }, breaker: { failures: 1 } }
    const events = createDispatcher({ sinks: { sink }, deadLetters, clock, ...options })
    const start = clock.now()
    void events.track({ type: 'x' }, { wait: 'accepted' })
    await clock.advance(1)
    isUp = true
    // The first check, at 10 s, ends the open time; the second, at 20 s, holds the one place for probes.
    await clock.advance(20_500)
    void events.track({ type: 'y' }, { wait: 'accepted' })
    await clock.advance(5_000)
    expect((await deadLetters.list()).letters.map(({ event }) => event.type)).toEqual(['x'])
    expect(written).toEqual([21_000])
  })

  it('B7: a copy that could not be saved is told even when another sink took the event', async () => {
    const deadLetters = { send: () => Promise.reject(new Error('disk full')), close: async () => {} }
    const { clock, events } = setUp({ up: memorySink(), down }, { deadLetters, retry: { attempts: 1 } })
    const told = events.track({ type: 'x' }).catch((error: unknown) => error)
    await clock.advance(100)
    const sinks = { up: { outcome: 'delivered' }, down: { outcome: 'unsaved' } }
    expect(await told).toMatchObject({ code: 'LAZARET_TRACKING_FAILED', result: { sinks } })
  })

  const badAnswers: Record<string, unknown> = {
    'rejected: a number': { rejected: 2 },
    'rejected: null': { rejected: null },
    'rejected: a text': { rejected: 'two' },
    'rejected: an object': { rejected: { 0: 'no' } },
    'an entry that is null': { rejected: [null] },
    '{ id, error }': { rejected: [{ id: 'a', error: new Error('no') }] },
    '{ event, error }': { rejected: [{ event: {}, error: new Error('no') }] },
    'an index behind the batch': { rejected: [{ index: 2, error: 'no' }] },
    'a negative index': { rejected: [{ index: -1, error: 'no' }] },
    'an index as text': { rejected: [{ index: '0', error: 'no' }] },
    'an index twice': { rejected: [0, 0].map(index => ({ index, error: 'no' })) },
    'a hole': { rejected: new Array(1) },
    'the bare list': [{ index: 0, error: 'no' }],
    'a getter that throws': {
      get rejected() {
        throw new Error('boom')
      },
    },
  }
  it.each(Object.keys(badAnswers))(
    'E17: a sink whose answer cannot be understood (%s) has written nothing',
    async name => {
      const sink = { write: async () => badAnswers[name] } as unknown as Sink
      const { clock, events, letters } = setUp({ sink }, { retry: { attempts: 2 } })
      const told = ['x', 'y'].map(type => events.track({ type }).catch((error: unknown) => error))
      await clock.advance(1_000)
      for (const one of await Promise.all(told))
        expect(one).toMatchObject({ result: { sinks: { sink: { outcome: 'dead_lettered' } } } })
      const failure = { code: 'LAZARET_SINK_ANSWER_INVALID', category: 'integration' }
      const cycle = { reason: 'attempts_exhausted', attemptCount: 2, failure }
      expect(await letters()).toMatchObject([{ cycle }, { cycle }])
      expect(events.health().sinks['sink']).toMatchObject({ delivered: 0, gaveUp: 2 })
      await events.flush()
    },
  )

  it.each([[undefined], [null], [{}], [{ rejected: [] }], [[]], [{ rejected: undefined }], [true]])(
    'E17: a sink that names no refused item (%j) has written the batch',
    async answer => {
      const sink = { write: async () => answer } as unknown as Sink
      const { clock, events } = setUp({ sink })
      const told = events.track({ type: 'x' })
      await clock.advance(1)
      expect(await told).toMatchObject({ sinks: { sink: { outcome: 'delivered' } } })
    },
  )

  it('E4: a retry whose event has expired takes no room from the one behind it', async () => {
    const written: string[][] = []
    let writes = 0
    const sink: Sink = {
      async write(batch) {
        if (++writes === 1) throw new Error('down')
        if (writes === 2) await sleep(clock, 3_000)
        written.push(batch.map(({ type }) => type))
      },
    }
    const retry = { attempts: 2, backoff: fixed({ delayMs: 100 }) }
    const retryLimit = { perSecond: 1, jitterRatio: 0 }
    const { clock, events, letters } = setUp({ sink }, { breaker: 'off', retry, retryLimit })
    const wait = 'accepted'
    void events.track({ type: 'slow' }, { wait })
    void events.track({ type: 'expiring', expiresAt: clock.now() + 2_000 }, { wait })
    void events.track({ type: 'behind' }, { wait })
    await clock.advance(10_000)
    expect(written).toEqual([['slow'], ['behind']])
    expect(await letters()).toMatchObject([{ event: { type: 'expiring' }, cycle: { reason: 'expired' } }])
  })

  it('E4: a retry that has waited too long for its turn becomes a letter', async () => {
    const retry = { attempts: 2, backoff: fixed({ delayMs: 10 }) }
    const retryLimit = { perSecond: 200, maxWaitMs: 2_000 }
    const { clock, events, deadLetters } = setUp({ down }, { breaker: 'off', retry, retryLimit })
    for (let n = 0; n < 1_000; n++) void events.track({ type: 'x' }, { wait: 'accepted' })
    await clock.advance(10_000)
    const { count, byReason } = await deadLetters.stats()
    expect(count).toBe(1_000)
    // At 200 a second, with as many turns reserved ahead, those who would wait longer than 2 s or so are left over.
    expect(byReason.retry_limited).toBeGreaterThan(300)
    expect(byReason.attempts_exhausted).toBeGreaterThanOrEqual(400)
  })

  it('K9: an event that outlived its time is not sent any more', async () => {
    const sink = memorySink()
    const { clock, events, letters } = setUp({ sink }, { batch: { maxWaitMs: 1_000 } })
    const expiresAt = clock.now() + 500
    void events.track({ type: 'x', expiresAt }, { wait: 'accepted' })
    await clock.advance(1_000)
    expect(sink.count).toBe(0)
    expect(await letters()).toMatchObject([{ cycle: { reason: 'expired', category: 'business' } }])
  })

  it('P2: the letter counts every attempt and keeps the first and the latest', async () => {
    const retry = { attempts: 50, backoff: fixed({ delayMs: 10 }) }
    const { clock, events, letters } = setUp({ down }, { breaker: 'off', retry, caps: { maxAttempts: 3 } })
    void events.track({ type: 'x' }, { wait: 'accepted' })
    await clock.advance(205)
    expect(events.health().sinks['down']?.retrying).toBe(1)
    await clock.advance(5_000)
    const [letter] = await letters()
    expect(letter?.cycle).toMatchObject({ attemptCount: 50, reason: 'attempts_exhausted' })
    expect(letter?.cycle.attempts.map(({ number }) => number)).toEqual([1, 49, 50])
  })

  it('E1 B16: a backoff that breaks is replaced by the default one', async () => {
    const backoff = { kind: 'own', maxMs: 1_000, delayMs: () => JSON.parse('') as number }
    const { clock, events, letters } = setUp({ down }, { retry: { backoff } })
    void events.track({ type: 'x' }, { wait: 'accepted' })
    await clock.advance(5_000)
    expect(await letters()).toHaveLength(1)
  })
})
