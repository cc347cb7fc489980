import { describe, expect, it } from 'vitest'
import { consumerWorld, refused } from '../../test/support/consumer-world.ts'
import { memoryDeadLetters, memoryLimit } from '../adapters/memory/index.ts'
import { TransientError } from '../core/failure/signals.ts'
import { fixed } from '../core/retry/fixed.ts'
import type { DeadLetterQueue, Spill } from '../ports/dead-letters.ts'
import type { Sink } from '../ports/sink.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { Recorder } from '../testing/recorder.ts'
import { createDispatcher } from './dispatcher/dispatcher.ts'
import type { DispatcherOptions } from './dispatcher/dispatcher-options.ts'
import { asJob } from './dispatcher/track/tracking-mode.ts'
import { createMetrics } from './metrics/create-metrics.ts'
import { resilient } from './resilient/resilient.ts'
import { sleep } from './sleep.ts'

const soon = (attempts: number) => ({ attempts, backoff: fixed({ delayMs: 50, jitter: 'none' }) })
const down: Sink = { write: () => Promise.reject(new TransientError('down')) }

/** Fails so often, then works. */
function failing(times: number) {
  let left = times
  return async () => {
    if (left-- > 0) throw new TransientError('down')
  }
}

function dispatcherWorld(options: Partial<DispatcherOptions> & Pick<DispatcherOptions, 'sinks'>) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const events = createDispatcher({
    deadLetters,
    clock,
    random: () => 0,
    observer: recorder.observer,
    breaker: 'off',
    retry: soon(2),
    ...options,
  })
  return { clock, recorder, deadLetters, events }
}

describe('a handler that ended', () => {
  it('E20: is told of after every attempt, how long it took and whether it worked', async () => {
    const fail = failing(1)
    const { consumer, publish, clock, recorder } = consumerWorld({
      retry: soon(2),
      handle: async () => {
        await sleep(clock, 30)
        await fail()
      },
    })
    await consumer.start()
    await publish('a')
    await clock.advance(1_000)
    const ended = { channel: 'orders', name: 'orders', durationMs: 30 }
    expect(recorder.of('handlerEnded')).toEqual([
      { ...ended, attempt: 1, succeeded: false },
      { ...ended, attempt: 2, succeeded: true },
    ])
    // One delivery, of which the retry waited in process.
    expect(recorder.of('eventProcessed')).toMatchObject([{ outcome: 'done', attempts: 2, durationMs: 30 }])
    expect(recorder.of('retrySucceeded')).toEqual([{ name: 'orders', attempts: 2 }])
    await consumer.close()
  })

  it('E20: also one that a shutdown interrupts; and what is settled later is measured then', async () => {
    const { consumer, broker, publish, clock, recorder } = consumerWorld({
      handle: (event: { payload: unknown }) =>
        event.payload === 'hangs' ? new Promise<void>(() => {}) : Promise.resolve(),
    })
    const subscribe = broker.subscribe.bind(broker)
    broker.subscribe = async (options, deliver) => {
      const subscription = await subscribe(options, deliver)
      const settle = subscription.settle.bind(subscription)
      subscription.settle = async (...given) => {
        await sleep(clock, 400)
        await settle(...given)
      }
      return subscription
    }
    await consumer.start()
    await publish('hangs', 'works')
    await clock.advance(1_000)
    expect(recorder.of('handlerEnded')).toMatchObject([{ succeeded: true, durationMs: 0 }])
    expect(recorder.of('eventProcessed')).toMatchObject([{ outcome: 'done', durationMs: 400 }])
    const closed = consumer.close({ graceMs: 100 })
    await clock.advance(10_000)
    await closed
    expect(recorder.of('handlerEnded')).toMatchObject([{}, { succeeded: false, durationMs: 1_100 }])
  })
})

describe('a turn of the retry limit', () => {
  const limits = [
    ['alone', () => ({})],
    ['in a fleet', (clock: FakeClock) => ({ shared: memoryLimit({ clock, assumedMembers: 1 }) })],
  ] as const

  it.each(limits)('E4: %s, a call is told of it at once or after its wait', async (_, shared) => {
    const clock = new FakeClock()
    const recorder = new Recorder()
    const work = Array.from({ length: 5 }, () => failing(1))
    const call = resilient(async (n: number) => work[n]!(), {
      name: 'crm',
      clock,
      random: () => 0,
      observer: recorder.observer,
      retry: soon(2),
      retryLimit: { perSecond: 10, ...shared(clock) },
    })
    const calls = work.map((_, n) => call(n))
    await clock.advance(60)
    const sofar = recorder.count('retryAllowed')
    expect(sofar).toBeGreaterThan(0)
    expect(sofar).toBeLessThan(5)
    await clock.advance(2_000)
    await Promise.all(calls)
    expect(recorder.of('retryAllowed')).toEqual(Array(5).fill({ name: 'crm' }))
    expect(recorder.of('retrySucceeded')).toEqual(Array(5).fill({ name: 'crm', attempts: 2 }))
  })

  it.each(limits)('E4: %s, a consumer tells one for each retry', async (_, shared) => {
    const clock = new FakeClock()
    const seen = new Set<unknown>()
    const { consumer, publish, recorder } = consumerWorld({
      clock,
      breaker: 'off',
      concurrency: 10,
      retry: soon(2),
      retryLimit: { perSecond: 10, ...shared(clock) },
      handle: async ({ payload }) => {
        if (seen.has(payload)) return
        seen.add(payload)
        throw refused()
      },
    })
    await consumer.start()
    await publish('a', 'b', 'c', 'd', 'e')
    await clock.advance(60)
    expect(recorder.count('retryAllowed')).toBeLessThan(5)
    expect(consumer.health()).toMatchObject({ waiting: 5 - recorder.count('retryAllowed'), active: 0 })
    expect(consumer.health().retrying).toBe(consumer.health().waiting)
    await clock.advance(2_000)
    expect(recorder.of('retryAllowed')).toEqual(Array(5).fill({ name: 'orders' }))
    expect(recorder.count('retrySucceeded')).toBe(5)
    await consumer.close()
  })

  it.each(limits)('E4: %s, a sink tells one for each event that comes back', async (_, shared) => {
    const clock = new FakeClock()
    const fail = failing(1)
    const { events, recorder } = dispatcherWorld({
      sinks: { loki: { write: fail } },
      clock,
      retryLimit: { perSecond: 10, ...shared(clock) },
    })
    for (let n = 0; n < 5; n++) void events.track({ type: 'x' })
    await clock.advance(60)
    expect(recorder.count('retryAllowed')).toBeLessThan(5)
    await clock.advance(2_000)
    expect(recorder.of('retryAllowed')).toEqual(Array(5).fill({ name: 'loki' }))
    expect(recorder.of('retrySucceeded')).toEqual(Array(5).fill({ name: 'loki', attempts: 2 }))
    // Each write that carries retries is a batch of them.
    const released = recorder.of('retryBatchReleased')
    expect(released.reduce((sum, { count }) => sum + count, 0)).toBe(5)
    expect(released).toHaveLength(recorder.count('batchWritten'))
  })

  it('E4: is told of by nobody who has no limit, and not for what is refused', async () => {
    const clock = new FakeClock()
    const recorder = new Recorder()
    const unlimited = resilient(failing(1), { clock, retry: soon(2), observer: recorder.observer })
    const refusing = resilient(async () => Promise.reject(new TransientError('down')), {
      clock,
      retry: soon(3),
      observer: recorder.observer,
      retryLimit: { perSecond: 0.1, onLimit: 'drop' },
    })
    const calls = [unlimited(), refusing().catch(() => {})]
    await clock.advance(1_000)
    await Promise.all(calls)
    expect([recorder.count('retryAllowed'), recorder.count('retryLimited')]).toEqual([1, 1])
  })
})

describe('a batch of retries', () => {
  it('E5: of a limit in batch form is told of when it is released, with all its places', async () => {
    const clock = new FakeClock()
    const recorder = new Recorder()
    const work = Array.from({ length: 250 }, () => failing(1))
    const call = resilient(async (n: number) => work[n]!(), {
      name: 'crm',
      clock,
      observer: recorder.observer,
      retry: soon(2),
      retryLimit: { batch: { size: 100, everyMs: 1_000 } },
    })
    const calls = work.map((_, n) => call(n))
    await clock.advance(50)
    expect(recorder.of('retryBatchReleased')).toEqual([{ name: 'crm', count: 100 }])
    await clock.advance(1_000)
    expect(recorder.of('retryBatchReleased')).toHaveLength(2)
    await clock.advance(1_000)
    await Promise.all(calls)
    expect(recorder.of('retryBatchReleased').map(({ count }) => count)).toEqual([100, 100, 50])
    expect(clock.pending).toBe(0)
  })

  it('E5: of a sink is told once, by the write that carries it', async () => {
    const { events, recorder, clock } = dispatcherWorld({
      sinks: { loki: { write: failing(1) } },
      retryLimit: { batch: { size: 100, everyMs: 1_000 } },
      batch: { maxCount: 100 },
    })
    for (let n = 0; n < 40; n++) void events.track({ type: 'x' })
    await clock.advance(1_000)
    expect(recorder.of('retryBatchReleased')).toEqual([{ name: 'loki', count: 40 }])
  })

  it('E5: that is not released before the consumer closes is not told of', async () => {
    const { consumer, publish, clock, recorder } = consumerWorld({
      breaker: 'off',
      retry: soon(5),
      retryLimit: { batch: { size: 1, everyMs: 60_000 } },
      handle: async () => {
        throw refused()
      },
    })
    await consumer.start()
    await publish('a', 'b')
    await clock.advance(1_000)
    expect(recorder.of('retryBatchReleased')).toEqual([{ name: 'orders', count: 1 }])
    await consumer.close()
    expect(clock.pending).toBe(0)
  })
})

describe('a letter', () => {
  const sinks = { loki: down, sentry: down, otlp: down }
  const saved = async (metrics: ReturnType<typeof createMetrics>, name: string) =>
    (await metrics.read())
      .find(each => each.name === name)
      ?.samples.map(sample => ('value' in sample ? sample.value : sample.count))
      .reduce((sum, value) => sum + value, 0)

  it.each([1, 3])('E7, E20: of a job, lost at %d sinks, is counted once for each', async count => {
    const clock = new FakeClock()
    const metrics = createMetrics({ clock })
    const { events, deadLetters } = dispatcherWorld({
      sinks: Object.fromEntries(Object.entries(sinks).slice(0, count)),
      clock,
      observer: metrics.observer,
    })
    const tracked = asJob('SendEmailJob', () => events.track({ type: 'x' }))
    await clock.advance(1_000)
    await tracked
    const { letters } = await deadLetters.list()
    expect(letters.map(({ cycle }) => cycle.reason)).toEqual(Array(count).fill('tracking_failed_in_job'))
    expect(await saved(metrics, 'dlq_saved_total')).toBe(count)
    expect(await saved(metrics, 'dlq_from_job_total')).toBe(count)
    expect(await saved(metrics, 'attempts_before_dlq')).toBe(count)
    expect(await saved(metrics, 'tracking_failures_swallowed_total')).toBe(1)
  })

  it.each([1, 3])('E7, E20: of a job is counted by what ended it, at %d sinks', async count => {
    const clock = new FakeClock()
    const metrics = createMetrics({ clock })
    const { events } = dispatcherWorld({
      sinks: Object.fromEntries(Object.entries(sinks).slice(0, count)),
      clock,
      observer: metrics.observer,
      retry: { attempts: 1 },
      breaker: { failures: 1 },
    })
    const track = () => asJob('SendEmailJob', () => events.track({ type: 'x' }))
    await track()
    await track()
    const family = (await metrics.read()).find(({ name }) => name === 'dlq_from_job_total')
    expect(family?.samples).toEqual([
      { labels: { job: 'SendEmailJob', reason: 'attempts_exhausted' }, value: count },
      { labels: { job: 'SendEmailJob', reason: 'breaker_open' }, value: count },
    ])
  })

  it('E7: that is told again says so, in the store and in the spill', async () => {
    const { events, recorder, clock } = dispatcherWorld({ sinks })
    const tracked = asJob('SendEmailJob', () => events.track({ type: 'x' }))
    await clock.advance(1_000)
    await tracked
    const told = recorder.of('letterSaved').map(({ letter, again = false }) => [letter.cycle.reason, again])
    expect(told).toEqual([
      ['attempts_exhausted', false],
      ['attempts_exhausted', false],
      ['tracking_failed_in_job', false],
      ['tracking_failed_in_job', true],
      ['tracking_failed_in_job', true],
    ])
  })

  it('B7, E20: that is spilled, and moved on later, is counted once', async () => {
    const clock = new FakeClock()
    const metrics = createMetrics({ clock })
    let isDown = true
    const store = memoryDeadLetters()
    const deadLetters: DeadLetterQueue = {
      send: letter => (isDown ? Promise.reject(new Error('down')) : store.send(letter)),
      close: async () => {},
    }
    const { events } = dispatcherWorld({
      sinks: { loki: down, sentry: down },
      clock,
      deadLetters,
      spill: memorySpill(),
      observer: metrics.observer,
    })
    const tracked = asJob('SendEmailJob', () => events.track({ type: 'x' }))
    await clock.advance(1_000)
    await tracked
    expect(await saved(metrics, 'dlq_saved_total')).toBe(2)
    isDown = false
    await clock.advance(20_000)
    expect((await store.stats()).count).toBe(2)
    expect(await saved(metrics, 'dlq_saved_total')).toBe(2)
    expect(await saved(metrics, 'dlq_write_errors_total')).toBeGreaterThan(0)
  })
})

describe('what sinks end with', () => {
  it('E20: is told of copy by copy, whatever the reason', async () => {
    const { events, recorder, clock } = dispatcherWorld({
      sinks: { loki: down, sentry: { write: async () => {} } },
      buffer: { maxEvents: 2, overflow: 'drop-newest' },
    })
    const results = [1, 2, 3].map(() => events.track({ type: 'x' }).catch(() => {}))
    await clock.advance(1_000)
    await Promise.all(results)
    expect(recorder.of('undelivered')).toEqual([
      { name: 'loki', type: 'x', reason: 'buffer_full' },
      { name: 'sentry', type: 'x', reason: 'buffer_full' },
      { name: 'loki', type: 'x', reason: 'attempts_exhausted' },
      { name: 'loki', type: 'x', reason: 'attempts_exhausted' },
    ])
    expect(recorder.of('batchWritten')).toMatchObject([{ name: 'sentry', count: 2 }])
  })

  it('E17, B12: a letter that is sent again and fails is told of as that', async () => {
    let isDown = true
    const sink: Sink = {
      write: async () => (isDown ? Promise.reject(new TransientError('down')) : undefined),
    }
    const { events, recorder, deadLetters, clock } = dispatcherWorld({
      sinks: { loki: sink },
      retry: soon(1),
    })
    void events.track({ type: 'x' }).catch(() => {})
    await clock.advance(1_000)
    for (const heals of [false, true]) {
      isDown = !heals
      const [letter] = (await deadLetters.list()).letters
      const replaying = await deadLetters.change(letter!.id, { to: 'replaying', at: clock.now() })
      const resent = events.resend(replaying!).catch(() => {})
      await clock.advance(1_000)
      await resent
    }
    expect(recorder.of('replayOutcome').map(({ outcome }) => outcome)).toEqual(['failed_again', 'recovered'])
  })
})

function memorySpill(): Spill {
  const held = memoryDeadLetters()
  return {
    send: letter => held.send(letter),
    close: async () => {},
    size: async () => (await held.stats()).count,
    async drain(target) {
      const { letters } = await held.list()
      for (const letter of letters) {
        await target.send(letter)
        await held.delete(letter.id)
      }
      return letters.length
    },
  }
}
