import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../adapters/memory/letters/dead-letters.ts'
import { memorySpill } from '../../adapters/memory/letters/spill.ts'
import { memoryLimit } from '../../adapters/memory/limits/limit.ts'
import { memorySink } from '../../adapters/memory/sink.ts'
import type { Sink } from '../../ports/sink.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Recorder } from '../../testing/recorder.ts'
import { createDispatcher } from './dispatcher.ts'
import type { DispatcherOptions } from './dispatcher-options.ts'

const hanging: Sink = { write: () => new Promise(() => {}) }
const down: Sink = { write: () => Promise.reject(new Error('down')) }
const EVENTS = 30

async function closing(sink: Sink, options: Partial<DispatcherOptions> = {}, beforeMs = 0) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const saved = new Set<string>()
  const store = {
    send: async ({ event }: { event: { id: string } }) => void saved.add(event.id),
    close: async () => {},
  }
  const { observer } = recorder
  const events = createDispatcher({ sinks: { sink }, deadLetters: store, clock, observer, ...options })
  const outcomes: string[] = []
  for (let n = 0; n < EVENTS; n++) {
    events.track({ type: 'x' }).then(
      () => outcomes.push('delivered'),
      (error: { result: { sinks: { sink: { reason: string } } } }) =>
        outcomes.push(error.result.sinks.sink.reason),
    )
  }
  await clock.advance(beforeMs)
  const start = clock.now()
  let tookMs: number | undefined
  const twice = [events.close(), events.close()]
  void Promise.all(twice).then(() => {
    tookMs = clock.now() - start
  })
  await clock.advance(120_000)
  return { events, outcomes, saved, clock, recorder, tookMs: () => tookMs }
}

describe('close', () => {
  it('idle or busy: flushes, closes the sink, and takes nothing more', async () => {
    let closes = 0
    const sink = Object.assign(memorySink(), { close: async () => void closes++ })
    const { events, outcomes, tookMs } = await closing(sink)
    expect(outcomes).toEqual(Array(EVENTS).fill('delivered'))
    expect([sink.count, closes, tookMs()]).toEqual([EVENTS, 1, 0])
    await expect(events.track({ type: 'x' })).rejects.toMatchObject({ code: 'LAZARET_CLOSED' })
  })

  it.each<readonly [string, Sink, Partial<DispatcherOptions>, number]>([
    ['a write hangs', hanging, { timeoutMs: 60_000 }, 0],
    ['retrying', down, { retry: { attempts: 50 }, breaker: 'off' }, 500],
    ['the breaker is open and events wait', down, { whenOpen: 'wait', retry: { attempts: 50 } }, 5_000],
    [
      'half-open with a probe that hangs',
      { ...down, probe: () => new Promise(() => {}) },
      { whenOpen: 'wait', retry: { attempts: 50 } },
      11_000,
    ],
    ['waiting for company', memorySink(), { batch: { maxWaitMs: 3_600_000 } }, 0],
    [
      'callers wait for room',
      hanging,
      { timeoutMs: 60_000, buffer: { maxEvents: 10, overflow: 'block' } },
      0,
    ],
  ])(
    '%s: ends in bounded time, and every event is delivered or a letter',
    async (_, sink, options, beforeMs) => {
      const { outcomes, saved, tookMs, clock } = await closing(sink, options, beforeMs)
      expect(outcomes).toHaveLength(EVENTS)
      const delivered = outcomes.filter(outcome => outcome === 'delivered').length
      expect(delivered + saved.size).toBe(EVENTS)
      expect(tookMs()).toBeLessThanOrEqual(10_000)
      if (delivered < EVENTS) expect(outcomes).toContain('shutdown')
      await clock.advance(3_600_000)
      expect(clock.pending).toBe(0)
    },
  )

  it('the store hangs, with a spill: the spill has every event', async () => {
    const spill = memorySpill()
    const deadLetters = { send: () => new Promise<void>(() => {}), close: async () => {} }
    const { outcomes, tookMs } = await closing(hanging, { deadLetters, spill, timeoutMs: 60_000 })
    expect(outcomes).toEqual(Array(EVENTS).fill('shutdown'))
    expect(tookMs()).toBeLessThanOrEqual(30_000)
    await expect(spill.send({} as never)).rejects.toMatchObject({ code: 'LAZARET_DEAD_LETTERS_CLOSED' })
    expect(await spill.size()).toBe(EVENTS)
  })

  it('the store and the sink both hang: still ends, and says what was lost', async () => {
    const never = () => new Promise<void>(() => {})
    const sink = { write: never, close: never } as unknown as Sink
    const { recorder, tookMs, outcomes } = await closing(sink, { deadLetters: { send: never, close: never } })
    expect(outcomes).toHaveLength(EVENTS)
    expect(tookMs()).toBeLessThanOrEqual(40_000)
    expect(recorder.count('eventDropped')).toBe(EVENTS)
  })

  it('a store that two dispatchers use is closed with the last of them', async () => {
    const clock = new FakeClock()
    const deadLetters = memoryDeadLetters()
    const [first, second] = [1, 2].map(() =>
      createDispatcher({ sinks: { s: memorySink() }, deadLetters, clock }),
    )
    const end = async (closed: Promise<void>) => {
      await clock.advance(1_000)
      await closed
    }
    await end(first!.close())
    expect((await deadLetters.stats()).count).toBe(0)
    await end(second!.close())
    await expect(deadLetters.stats()).rejects.toMatchObject({ code: 'LAZARET_DEAD_LETTERS_CLOSED' })
  })
  it('P1: with leaveOpen sinks, stores and shared limits stay open', async () => {
    const clock = new FakeClock()
    const deadLetters = memoryDeadLetters()
    const shared = memoryLimit({ clock })
    const closed: string[] = []
    const sink: Sink = { write: async () => undefined, close: async () => void closed.push('sink') }
    const rateLimit = { perSecond: 5, shared }
    const retryLimit = { perSecond: 5, shared }
    for (const leaveOpen of [true, false]) {
      const events = createDispatcher({
        sinks: { sink },
        deadLetters,
        clock,
        rateLimit,
        retryLimit,
        leaveOpen,
      })
      const ended = events.close()
      await clock.advance(1_000)
      await ended
      if (leaveOpen) expect((await deadLetters.stats()).count).toBe(0)
      expect([closed, shared.closing.aborted]).toEqual(leaveOpen ? [[], false] : [['sink'], true])
    }
    await expect(deadLetters.stats()).rejects.toMatchObject({ code: 'LAZARET_DEAD_LETTERS_CLOSED' })
  })
})
