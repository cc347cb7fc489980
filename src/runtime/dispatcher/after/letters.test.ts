import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { createDispatcher } from '../dispatcher.ts'
import { asJob } from '../track/tracking-mode.ts'

const down: Sink = { write: () => Promise.reject(new Error('down')) }

/** A store that takes nothing until it is repaired, and each letter only after a while. */
function setUp() {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const letters = memoryDeadLetters()
  const state = { isBroken: true, atOnce: 0, mostAtOnce: 0 }
  const deadLetters = {
    async send(letter: DeadLetter) {
      state.mostAtOnce = Math.max(state.mostAtOnce, ++state.atOnce)
      await new Promise<void>(resolve => clock.schedule(1, resolve))
      state.atOnce--
      if (state.isBroken) throw new Error('disk full')
      await letters.send(letter)
    },
    close: async () => {},
  }
  const { observer } = recorder
  const events = createDispatcher({
    sinks: { down },
    deadLetters,
    clock,
    observer,
    retry: { attempts: 1 },
    breaker: 'off',
  })
  return { clock, recorder, letters, state, events }
}

describe('letters of a dispatcher', () => {
  it('B7: what no store takes is told to the caller, held, and saved when the store is back', async () => {
    const { clock, events, letters, state } = setUp()
    const told = events.track({ type: 'x' }).catch((error: unknown) => error)
    void events.track({ type: 'y' }, { wait: 'accepted' })
    await clock.advance(100)
    expect(await told).toMatchObject({ retryable: true, result: { sinks: { down: { outcome: 'unsaved' } } } })
    expect(events.health()).toMatchObject({ status: 'DEGRADED', unsavedLetters: 2 })
    await clock.advance(60_000)
    expect((await letters.stats()).count).toBe(0)
    state.isBroken = false
    await clock.advance(30_000)
    expect((await letters.list()).letters.map(({ event }) => event.type).sort()).toEqual(['x', 'y'])
    expect(events.health()).toMatchObject({ status: 'UP', unsavedLetters: 0 })
  })

  it('B7: closing tries once more, and says what is lost', async () => {
    for (const isBroken of [true, false]) {
      const { clock, events, letters, state, recorder } = setUp()
      void events.track({ type: 'x' }, { wait: 'accepted' })
      await clock.advance(100)
      state.isBroken = isBroken
      const closed = events.close()
      await clock.advance(60_000)
      await closed
      expect((await letters.stats()).count).toBe(isBroken ? 0 : 1)
      expect(recorder.count('eventDropped')).toBe(isBroken ? 1 : 0)
    }
  })

  it("E7, E20: a job's letter that cannot be told again is kept as it was, and its event is not told as lost", async () => {
    const clock = new FakeClock()
    const recorder = new Recorder()
    const letters = memoryDeadLetters()
    const slow: Sink = {
      write: () => new Promise((_, reject) => clock.schedule(10, () => reject(new Error('down')))),
    }
    let isBroken = false
    const events = createDispatcher({
      sinks: { down, slow },
      deadLetters: {
        async send(letter) {
          if (isBroken) throw new Error('disk full')
          await letters.send(letter)
          // Both are there now, and one of them does not yet say that every sink failed.
          isBroken = (await letters.stats()).count === 2
        },
        close: async () => {},
      },
      clock,
      observer: recorder.observer,
      retry: { attempts: 1 },
      breaker: 'off',
    })
    const tracked = asJob('SendEmailJob', () => events.track({ type: 'mail.sent' }))
    await clock.advance(1_000)
    await tracked
    const closed = events.close()
    await clock.advance(60_000)
    await closed
    expect(recorder.count('letterWriteFailed')).toBeGreaterThan(0)
    expect((await letters.stats()).count).toBe(2)
    expect(recorder.of('eventDropped')).toEqual([])
  })

  it('E17: a sink that buries its whole buffer does not flood the store', async () => {
    const { clock, events, letters, state } = setUp()
    state.isBroken = false
    for (let n = 0; n < 1_000; n++) void events.track({ type: 'x' }, { wait: 'accepted' })
    await clock.advance(5_000)
    expect((await letters.stats()).count).toBe(1_000)
    expect(state.mostAtOnce).toBe(100)
  })

  it('E14: callers that do not wait cannot fill the memory with letters: beyond a bound they are told', async () => {
    const clock = new FakeClock()
    const recorder = new Recorder()
    const store = Promise.withResolvers<void>()
    const deadLetters = { send: () => store.promise, close: async () => {} }
    const events = createDispatcher({
      sinks: { down },
      deadLetters,
      clock,
      observer: recorder.observer,
      rateLimit: { perSecond: 1 },
    })
    const outcomes: unknown[] = []
    for (let n = 0; n < 1 + 10_000 + 3; n++)
      void events.track({ type: 'x' }, { wait: 'accepted', onFailure: 'swallow' }).then(({ sinks }) => {
        outcomes.push(sinks.down)
      })
    await clock.advance(0)
    const lost = { outcome: 'unsaved', reason: 'rate_limited' }
    expect(outcomes).toEqual([{ outcome: 'accepted' }, lost, lost, lost])
    expect(recorder.count('eventDropped')).toBe(3)
    expect(recorder.of('eventLimited')).toEqual(Array(3).fill({ type: 'x', became: 'unsaved' }))
    store.resolve()
    await clock.advance(1)
    expect(outcomes).toHaveLength(10_004)
    expect(
      outcomes.filter(outcome => (outcome as { outcome: string }).outcome === 'dead_lettered'),
    ).toHaveLength(10_000)
  })
})
