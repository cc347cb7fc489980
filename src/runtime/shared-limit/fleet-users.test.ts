import { describe, expect, it } from 'vitest'
import { memoryBroker, memoryDeadLetters, memoryLimit, memorySink } from '../../adapters/memory/index.ts'
import { TransientError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { Sink } from '../../ports/sink.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Recorder } from '../../testing/recorder.ts'
import { createConsumer } from '../consumer/consumer.ts'
import { createEvent } from '../create-event.ts'
import { createDispatcher } from '../dispatcher/dispatcher.ts'
import { asJob } from '../dispatcher/track/tracking-mode.ts'
import { resilient } from '../resilient/resilient.ts'

const quick = { attempts: 1_000, backoff: fixed({ delayMs: 10, jitter: 'none' }) }

function mostInASecond(starts: readonly number[]): number {
  return Math.max(...starts.map(from => starts.filter(at => at >= from && at < from + 1_000).length))
}

function world() {
  const clock = new FakeClock()
  const recorder = new Recorder()
  return { clock, recorder, shared: memoryLimit({ clock, assumedMembers: 2 }), begin: clock.now() }
}

/** A consumer in a process of its own, whose handler fails once for each event. */
async function consumerOf({ clock, recorder, shared }: ReturnType<typeof world>, retriedAt: number[]) {
  const broker = memoryBroker({ clock })
  const failed = new Set<string>()
  const consumer = createConsumer({
    broker,
    channel: 'orders',
    concurrency: 20,
    prefetch: 200,
    breaker: 'off',
    clock,
    observer: recorder.observer,
    deadLetters: memoryDeadLetters(),
    retry: { attempts: 2, backoff: fixed({ delayMs: 50, jitter: 'none' }) },
    retryLimit: { perSecond: 20, shared },
    handle: async event => {
      if (failed.has(event.id)) {
        retriedAt.push(clock.now())
        return
      }
      failed.add(event.id)
      throw new TransientError('down')
    },
  })
  await consumer.start()
  const events = Array.from({ length: 100 }, () => createEvent({ type: 'x', channel: 'orders' }))
  await broker.publish(events)
  return consumer
}

describe('who shares a limit', () => {
  it('E4: two consumers retry at the pace of one, and nothing is lost', async () => {
    const all = world()
    const retriedAt: number[] = []
    const consumers = [await consumerOf(all, retriedAt), await consumerOf(all, retriedAt)]
    await all.clock.advance(15_000)
    expect(retriedAt).toHaveLength(200)
    expect(mostInASecond(retriedAt)).toBeLessThanOrEqual(21)
    expect(Math.max(...retriedAt)).toBeLessThan(all.begin + 11_500)
    expect(all.recorder.count('retryLimited')).toBeGreaterThan(150)
    expect(all.recorder.count('retryLimited')).toBeLessThanOrEqual(200)
    for (const consumer of consumers) await consumer.close()
    expect(all.clock.pending).toBe(0)
  })

  it('E4: a consumer that closes gives back what waits for the fleet', async () => {
    const all = world()
    const retriedAt: number[] = []
    const consumer = await consumerOf(all, retriedAt)
    await all.clock.advance(1_000)
    const closed = consumer.close()
    await all.clock.advance(1_000)
    await closed
    const before = retriedAt.length
    await all.clock.advance(60_000)
    expect(retriedAt).toHaveLength(before)
    expect(all.recorder.of('eventProcessed').filter(({ outcome }) => outcome !== 'done')).toHaveLength(
      100 - before,
    )
    expect(all.clock.pending).toBe(0)
  })

  it('E5: two dispatchers wait for one sink: back again, it sees the pace of one limit', async () => {
    const { clock, recorder, shared, begin } = world()
    const starts: number[] = []
    const arrived = new Set<string>()
    const sink: Sink = {
      async write(batch) {
        if (clock.now() < begin + 5_000) throw new TransientError('down')
        for (const { id } of batch) arrived.add(id)
        starts.push(...batch.map(() => clock.now()))
      },
    }
    const dispatchers = [0, 1].map(() =>
      createDispatcher({
        sinks: { sink: { write: batch => sink.write(batch, {} as never) } },
        deadLetters: memoryDeadLetters(),
        clock,
        observer: recorder.observer,
        whenOpen: 'wait',
        retry: quick,
        breaker: { openMs: 1_000 },
        retryLimit: { perSecond: 100, shared },
      }),
    )
    for (const events of dispatchers) for (let n = 0; n < 300; n++) void events.track({ type: 'x' })
    await clock.advance(20_000)
    expect(arrived.size).toBe(600)
    expect(mostInASecond(starts)).toBeLessThanOrEqual(105)
    expect(Math.max(...starts)).toBeLessThan(begin + 5_000 + 1_000 + 6_500)
    for (const events of dispatchers) {
      const closed = events.close()
      await clock.advance(0)
      await closed
    }
    expect(clock.pending).toBe(0)
  })

  it('E14: two dispatchers share one entry limit, and the events that it refuses are saved', async () => {
    const { clock, recorder, shared } = world()
    const sink = memorySink()
    const deadLetters = memoryDeadLetters()
    const dispatchers = [0, 1].map(() =>
      createDispatcher({
        sinks: { sink },
        deadLetters,
        clock,
        observer: recorder.observer,
        rateLimit: { perSecond: 100, shared },
      }),
    )
    const tracked = dispatchers.flatMap(events =>
      Array.from({ length: 100 }, () => events.track({ type: 'x' })),
    )
    await Promise.all(dispatchers.map(events => events.flush()))
    await clock.advance(0)
    const outcomes = (await Promise.all(tracked)).map(({ sinks }) => sinks['sink']!.outcome)
    const delivered = outcomes.filter(outcome => outcome === 'delivered').length
    expect(delivered).toBeGreaterThan(95)
    expect(delivered).toBeLessThanOrEqual(100)
    expect(sink.count).toBe(delivered)
    expect((await deadLetters.stats()).count).toBe(200 - delivered)
    expect(recorder.count('eventLimited')).toBe(200 - delivered)
    for (const events of dispatchers) await events.close()
    await clock.advance(1_000)
    expect(clock.pending).toBe(0)
  })

  it('E14: an event that waits for the entry limit is not lost when the dispatcher closes', async () => {
    const { clock, shared } = world()
    const sink = memorySink()
    const events = createDispatcher({
      sinks: { sink },
      deadLetters: memoryDeadLetters(),
      clock,
      rateLimit: { perSecond: 100, shared },
    })
    const tracked = events.track({ type: 'x' })
    const closed = events.close()
    await clock.advance(0)
    expect((await tracked).sinks.sink.outcome).toBe('delivered')
    await closed
  })

  it('E14: an event that still waits for the entry limit at the end is rejected, and in a job it is saved', async () => {
    const { clock, shared } = world()
    Object.assign(shared, { reserve: () => new Promise(() => {}) })
    const saved: string[] = []
    const events = createDispatcher({
      sinks: { sink: memorySink() },
      deadLetters: { send: async ({ event }) => void saved.push(event.type), close: async () => {} },
      clock,
      rateLimit: { perSecond: 100, shared },
    })
    const told: unknown[] = []
    void events.track({ type: 'request' }).catch(error => told.push(error))
    void asJob('Nightly', () => events.track({ type: 'job' })).then(result => told.push(result))
    const closed = events.close({ graceMs: 50 })
    await clock.advance(60_000)
    await closed
    expect(told).toMatchObject([
      { code: 'LAZARET_CLOSED' },
      { sinks: { sink: { outcome: 'dead_lettered', reason: 'shutdown' } } },
    ])
    expect(saved).toEqual(['job'])
    expect(clock.pending).toBe(0)
  })

  it('E3: a retry asks the shared rate limit too, and one that is refused is given up on', async () => {
    const { clock, recorder, shared } = world()
    let attempts = 0
    const call = resilient(
      async () => {
        attempts++
        throw new TransientError('down')
      },
      { clock, observer: recorder.observer, retry: quick, rateLimit: { perSecond: 3, shared } },
    )
    const outcome = call().catch((error: unknown) => error)
    await clock.advance(1_000)
    expect(await outcome).toBeInstanceOf(TransientError)
    expect(attempts).toBe(3)
    expect(recorder.of('gaveUp').map(({ reason }) => reason)).toEqual(['rate_limited'])
    await shared.close()
    await clock.advance(60_000)
    expect(clock.pending).toBe(0)
  })

  it('E4: a call that is aborted while it waits for the fleet ends at once', async () => {
    const { clock, shared } = world()
    const call = resilient(
      async () => {
        throw new TransientError('down')
      },
      { clock, retry: quick, retryLimit: { perSecond: 0.1, shared } },
    )
    const enough = new AbortController()
    const outcomes = [0, 1, 2].map(() => call.run({ signal: enough.signal }).catch((error: unknown) => error))
    await clock.advance(1_000)
    enough.abort(new Error('enough'))
    for (const outcome of outcomes) expect(await outcome).toMatchObject({ message: 'enough' })
    await shared.close()
    await clock.advance(60_000)
    expect(clock.pending).toBe(0)
  })
})
