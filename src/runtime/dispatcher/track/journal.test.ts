import { describe, expect, it } from 'vitest'
import { memoryJournal } from '../../../adapters/memory/journal/journal.ts'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import { memorySink } from '../../../adapters/memory/sink.ts'
import type { Journal } from '../../../ports/journal.ts'
import type { Sink } from '../../../ports/sink.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { createDispatcher } from '../dispatcher.ts'
import type { DispatcherOptions } from '../dispatcher-options.ts'

const hanging: Sink = { write: () => new Promise(() => {}) }
const critical = ({ type }: { readonly type: string }) => type.startsWith('payment.')

function setUp(sink: Sink, options: Partial<DispatcherOptions> = {}) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const { observer } = recorder
  const events = createDispatcher({ sinks: { sink }, deadLetters, clock, observer, critical, ...options })
  const track = (type: string) => {
    const state = { isDone: false }
    const done = () => {
      state.isDone = true
    }
    events.track({ type }, { wait: 'accepted' }).then(done, done)
    return state
  }
  return { clock, recorder, deadLetters, events, track }
}

describe('critical events', () => {
  it('K10: are in the journal before track resolves, and out of it once they have an outcome', async () => {
    const journal = memoryJournal()
    const sink = memorySink()
    const { clock, track } = setUp(sink, { journal, batch: { maxWaitMs: 100 } })
    const tracked = [track('payment.failed'), track('page.seen')]
    await clock.advance(0)
    expect(tracked).toEqual([{ isDone: true }, { isDone: true }])
    expect((await journal.pending()).entries.map(({ event }) => event.type)).toEqual(['payment.failed'])
    await clock.advance(100)
    expect([sink.count, journal.size]).toEqual([2, 0])
  })

  it('K10: a process that dies forgets none: the next one sends them', async () => {
    const journal = memoryJournal()
    const first = setUp(hanging, { journal })
    for (let n = 0; n < 250; n++) first.track('payment.failed')
    await first.clock.advance(0)
    const sink = memorySink()
    const second = setUp(sink, { journal })
    await second.clock.advance(0)
    expect([sink.count, journal.size]).toEqual([250, 0])
    expect(second.recorder.count('trackingFailureSwallowed')).toBe(0)
  })

  it('K10: a letter is durable too, so a given-up event leaves the journal', async () => {
    const journal = memoryJournal()
    const { clock, track, deadLetters } = setUp(hanging, { journal, retry: { attempts: 1 } })
    track('payment.failed')
    await clock.advance(10_000)
    expect([(await deadLetters.stats()).count, journal.size]).toEqual([1, 0])
  })

  it('K10: an event that could not be saved as a letter stays in the journal', async () => {
    const journal = memoryJournal()
    const deadLetters = { send: () => Promise.reject(new Error('disk full')), close: async () => {} }
    const { clock, track } = setUp(hanging, { journal, retry: { attempts: 1 }, deadLetters })
    track('payment.failed')
    await clock.advance(10_000)
    expect(journal.size).toBe(1)
  })

  it.each([
    ['fails', () => Promise.reject(new Error('disk full'))],
    ['hangs', () => new Promise<void>(() => {})],
  ])('K10: with a journal that %s, or none, track waits for the outcome instead', async (_, append) => {
    const journal: Journal = {
      append,
      remove: async () => {},
      pending: async () => ({ entries: [], unreadable: [] }),
    }
    for (const options of [{ journal }, {}]) {
      const sink = memorySink()
      const { clock, track, recorder } = setUp(sink, { ...options, batch: { maxWaitMs: 8_000 } })
      const tracked = track('payment.failed')
      await clock.advance(7_999)
      expect(tracked.isDone).toBe(false)
      await clock.advance(1)
      expect([tracked.isDone, sink.count]).toEqual([true, 1])
      expect(recorder.count('journalFailed')).toBe('journal' in options ? 1 : 0)
    }
  })
})
