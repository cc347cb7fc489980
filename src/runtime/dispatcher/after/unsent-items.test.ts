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
import type { TrackResult } from '../track/track-result.ts'
import { asJob } from '../track/tracking-mode.ts'

const EVENTS = 30
const hanging: Sink = { write: () => new Promise(() => {}) }
const refusing: Sink = {
  write: () => Promise.reject(Object.assign(new Error('no'), { status: 400 })),
}
const failingStore = { send: () => Promise.reject(new Error('disk full')), close: async () => {} }

function setUp(sinks: Record<string, Sink>, options: Partial<DispatcherOptions> = {}) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const { observer } = recorder
  const events = createDispatcher({ sinks, deadLetters, clock, observer, timeoutMs: 60_000, ...options })
  const results: TrackResult[] = []
  const errors: unknown[] = []
  const track = (count = EVENTS) => {
    for (let n = 0; n < count; n++)
      events.track({ type: `x.${n}` }).then(
        result => results.push(result),
        error => errors.push(error),
      )
  }
  const close = async () => {
    const closed = events.close({ graceMs: 1_000 })
    await clock.advance(120_000)
    await closed
  }
  return { clock, recorder, deadLetters, events, results, errors, track, close }
}

async function sinksLeft(journal: Journal) {
  return (await journal.pending()).entries.map(({ sinks }) => sinks)
}

/** Knows for which sinks it was asked to keep something, each time. */
function watchedJournal() {
  const kept = memoryJournal()
  const appended: (readonly string[] | undefined)[] = []
  const journal: Journal = {
    append: async entry => {
      appended.push(entry.sinks)
      await kept.append(entry)
    },
    remove: id => kept.remove(id),
    pending: () => kept.pending(),
    close: () => kept.close(),
  }
  return { journal, appended }
}

describe('what is left when a dispatcher closes', () => {
  it('E21: is in the journal, critical or not; track says so, and it is neither a failure nor a letter', async () => {
    const journal = memoryJournal()
    const { track, close, results, errors, deadLetters, recorder } = setUp({ sink: hanging }, { journal })
    const isEmpty = (await deadLetters.stats()).count === 0
    track()
    await close()
    expect(errors).toEqual([])
    expect(results.map(({ sinks }) => sinks['sink']?.outcome)).toEqual(Array(EVENTS).fill('journaled'))
    expect([journal.size, isEmpty, recorder.count('letterSaved')]).toEqual([EVENTS, true, 0])
  })

  it('E21: is sent by the next process, in order, and forgotten then', async () => {
    const journal = memoryJournal()
    const first = setUp({ sink: hanging }, { journal })
    first.track()
    await first.close()
    const sink = memorySink()
    const second = setUp({ sink }, { journal })
    await second.clock.advance(0)
    expect(sink.events.map(({ type }) => type)).toEqual(Array.from({ length: EVENTS }, (_, n) => `x.${n}`))
    expect(journal.size).toBe(0)
  })

  it('E17: goes to the sinks that lack it, and to no other', async () => {
    const journal = memoryJournal()
    const first = setUp({ quick: memorySink(), slow: hanging, picky: refusing }, { journal })
    first.track(3)
    await first.close()
    expect(await sinksLeft(journal)).toEqual([['slow'], ['slow'], ['slow']])
    const [quick, slow, picky] = [memorySink(), memorySink(), memorySink()]
    const second = setUp({ quick, slow, picky }, { journal })
    await second.clock.advance(0)
    expect([quick.count, slow.count, picky.count, journal.size]).toEqual([0, 3, 0, 0])
  })

  it('E17: of a critical event too: the journal learns who has it by now', async () => {
    const journal = memoryJournal()
    const { track, close } = setUp({ quick: memorySink(), slow: hanging }, { journal, critical: () => true })
    track(2)
    await close()
    expect(await sinksLeft(journal)).toEqual([['slow'], ['slow']])
  })

  it('E21: goes to all sinks when those it lacks have other names now', async () => {
    const journal = memoryJournal()
    const first = setUp({ old: hanging }, { journal })
    first.track(2)
    await first.close()
    const sink = memorySink()
    const second = setUp({ renamed: sink }, { journal })
    await second.clock.advance(0)
    expect([sink.count, journal.size]).toEqual([2, 0])
  })

  it('E7: keeps the name of its job: given up on by the next process, its letter has it', async () => {
    const journal = memoryJournal()
    const first = setUp({ sink: hanging }, { journal })
    asJob('SendEmailJob', () => first.track(1))
    await first.close()
    expect(first.recorder.count('trackingFailureSwallowed')).toBe(0)
    const second = setUp({ sink: refusing }, { journal })
    await second.clock.advance(10)
    const { letters } = await second.deadLetters.list()
    expect(letters.map(({ job, cycle }) => [job, cycle.reason])).toEqual([
      ['SendEmailJob', 'tracking_failed_in_job'],
    ])
    expect(journal.size).toBe(0)
  })

  it.each([
    ['is full', memoryJournal({ maxEvents: 10 }), 10],
    ['hangs', { ...memoryJournal(), append: () => new Promise<void>(() => {}) }, 0],
  ])('E21: with a journal that %s it becomes letters', async (_, journal, kept) => {
    const pending = async () => ({ entries: [], unreadable: [] })
    const given: Journal = 'size' in journal ? journal : { ...journal, pending, remove: async () => {} }
    const saved = new Set<string>()
    const deadLetters = {
      send: async ({ event }: { event: { id: string } }) => void saved.add(event.id),
      close: async () => {},
    }
    const { track, close, recorder } = setUp({ sink: hanging }, { journal: given, deadLetters })
    track()
    await close()
    expect(saved.size).toBe(EVENTS - kept)
    expect(recorder.count('journalFailed')).toBe(EVENTS - kept)
    expect(recorder.count('eventDropped')).toBe(0)
  })

  it('B7: letters that no store took are left to the journal, for all the sinks they were of', async () => {
    const journal = memoryJournal()
    const { track, close, clock, recorder } = setUp(
      { picky: refusing, slow: hanging, other: refusing },
      { journal, deadLetters: failingStore },
    )
    track(3)
    await clock.advance(100)
    await close()
    expect((await sinksLeft(journal)).map(sinks => [...sinks!].sort())).toEqual(
      Array(3).fill(['other', 'picky', 'slow']),
    )
    expect(recorder.count('eventDropped')).toBe(0)
  })

  it('E21: never takes a sink out of the journal whose letter no store has yet: the process may die in between', async () => {
    const { journal, appended } = watchedJournal()
    const { track, close } = setUp(
      { hanging, refusing },
      { journal, deadLetters: failingStore, critical: () => true },
    )
    track(1)
    await close()
    expect(appended[0]).toBeUndefined()
    expect(appended.slice(1).map(sinks => sinks?.toSorted())).toEqual(
      Array(appended.length - 1).fill(['hanging', 'refusing']),
    )
    expect(appended.length).toBeGreaterThan(1)
  })

  it('B7: all letters of an event are left in one go: one sink alone would be all that a crash leaves', async () => {
    const { journal, appended } = watchedJournal()
    const { track, close, clock } = setUp(
      { picky: refusing, other: refusing },
      { journal, deadLetters: failingStore },
    )
    track(1)
    await clock.advance(100)
    await close()
    expect(appended.map(sinks => sinks?.toSorted())).toEqual([['other', 'picky']])
  })

  it('B7: so are those that a store hangs with, however many there are', async () => {
    const left = new Set<string>()
    let isClosed = false
    const journal: Journal = {
      async append({ event }) {
        if (isClosed) throw new Error('closed')
        left.add(event.id)
      },
      remove: async () => {},
      pending: async () => ({ entries: [], unreadable: [] }),
      close: async () => {
        isClosed = true
      },
    }
    const deadLetters = { send: () => new Promise<void>(() => {}), close: async () => {} }
    const { track, close, clock, recorder } = setUp({ picky: refusing }, { journal, deadLetters })
    track(450)
    await clock.advance(100)
    await close()
    expect([left.size, recorder.count('eventDropped')]).toEqual([450, 0])
  })

  it('B7: without a journal they are told as dropped', async () => {
    const { track, close, clock, recorder } = setUp({ picky: refusing }, { deadLetters: failingStore })
    track(3)
    await clock.advance(100)
    await close()
    expect(recorder.count('eventDropped')).toBe(3)
  })

  it('E10: an event that is sent again comes back to its letter, not to the journal', async () => {
    const journal = memoryJournal()
    const first = setUp({ sink: refusing }, { journal })
    first.track(1)
    await first.clock.advance(100)
    const [letter] = (await first.deadLetters.list()).letters
    const second = setUp({ sink: hanging }, { journal })
    const resent = second.events.resend({ ...letter!, replays: 1 }).catch((error: unknown) => error)
    await second.close()
    expect(await resent).toMatchObject({ code: 'LAZARET_TRACKING_FAILED' })
    expect(journal.size).toBe(0)
  })
})

describe('which events are critical', () => {
  it.each<readonly [string, DispatcherOptions['critical']]>([
    ['a function', ({ type }) => type === 'payment.failed'],
    ['types', { types: ['payment.*'] }],
    ['severities', { severities: ['fatal'] }],
    ['a function beside them', { types: ['nothing'], when: ({ type }) => type === 'payment.failed' }],
    [
      'a function that throws, for that has not said no',
      {
        when: ({ type }) => {
          if (type === 'payment.failed') throw new Error('oops')
          return false
        },
      },
    ],
  ])('K10: is said by %s', async (_, critical) => {
    const journal = memoryJournal()
    const { events, clock } = setUp({ sink: hanging }, { journal, critical })
    void events.track({ type: 'payment.failed', severity: 'fatal' }, { wait: 'accepted' })
    void events.track({ type: 'page.seen', severity: 'info' }, { wait: 'accepted' })
    await clock.advance(0)
    expect((await journal.pending()).entries.map(({ event }) => event.type)).toEqual(['payment.failed'])
  })

  it('K10: a fault in saying so is found at once', () => {
    expect(() => setUp({ sink: hanging }, { critical: { types: [''] } })).toThrow(/critical\.types/)
    expect(() => setUp({ sink: hanging }, { critical: { type: ['x'] } as never })).toThrow(/critical/)
  })
})
