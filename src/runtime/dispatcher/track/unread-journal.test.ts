import { describe, expect, it } from 'vitest'
import { memoryJournal } from '../../../adapters/memory/journal/journal.ts'
import { memoryDeadLetters } from '../../../adapters/memory/letters/dead-letters.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Journal, JournalContents } from '../../../ports/journal.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { createDispatcher } from '../dispatcher.ts'

const LEFT = 250
const NOTHING: JournalContents = { entries: [], unreadable: [] }

/** A dispatcher on a journal with events of an earlier process. `pending` of that journal is replaced while it is set. */
async function setUp(pending: (() => Promise<JournalContents>) | undefined) {
  const disk = memoryJournal()
  for (const event of createFactory().events(LEFT)) await disk.append({ event })
  const state = { pending, reads: 0 }
  const journal: Journal = {
    append: entry => disk.append(entry),
    remove: id => disk.remove(id),
    pending: () => {
      state.reads++
      return state.pending?.() ?? disk.pending()
    },
  }
  const clock = new FakeClock()
  const recorder = new Recorder()
  const sent: string[] = []
  const sink = {
    write: async (batch: readonly LazaretEvent[]) => void sent.push(...batch.map(({ id }) => id)),
  }
  const events = createDispatcher({
    sinks: { sink },
    deadLetters: memoryDeadLetters(),
    clock,
    random: () => 0.5,
    observer: recorder.observer,
    critical: () => true,
    batch: { maxWaitMs: 0 },
    journal,
  })
  return { disk, state, clock, recorder, sent, events }
}

const locked = () => Promise.reject(new Error('journal: another process has locked the file; end it'))

describe('a journal that cannot be read when the dispatcher starts', () => {
  it('K10: is read again until it answers, and the events of the earlier process are sent once', async () => {
    const { disk, state, clock, recorder, sent, events } = await setUp(locked)
    await clock.advance(6_900)
    expect([sent.length, recorder.count('journalFailed')]).toEqual([0, 3])
    state.pending = undefined
    await clock.advance(30_000)
    expect([sent.length, new Set(sent).size, disk.size]).toEqual([LEFT, LEFT, 0])
    expect([state.reads, recorder.count('journalFailed')]).toEqual([4, 3])
    await events.close()
  })

  it('K10: events that this process adds meanwhile are not taken for those of the earlier one', async () => {
    const { disk, state, clock, sent, events } = await setUp(locked)
    const remove = disk.remove.bind(disk)
    disk.remove = () => Promise.reject(new Error('locked'))
    const own = Array.from({ length: 5 }, (_, index) => `own-${index}`)
    for (const id of own) void events.track({ id, type: 'payment.taken' })
    await clock.advance(100)
    expect([sent, disk.size]).toEqual([own, LEFT + own.length])
    disk.remove = remove
    state.pending = undefined
    await clock.advance(30_000)
    expect([sent.length, new Set(sent).size]).toEqual([LEFT + own.length, LEFT + own.length])
    await events.close()
  })

  it('K10: is shown in health until it is read', async () => {
    const { state, clock, events } = await setUp(locked)
    await clock.advance(1)
    expect(events.health()).toMatchObject({
      status: 'DEGRADED',
      stalls: [{ place: 'journal', problem: 'journal: another process has locked the file; end it' }],
    })
    state.pending = undefined
    await clock.advance(30_000)
    expect(events.health().status).toBe('UP')
    expect(events.health()).not.toHaveProperty('stalls')
    await events.close()
  })

  it('K10: waits at most 33 s between two reads, however long it fails', async () => {
    const { state, clock, events } = await setUp(locked)
    await clock.advance(3_600_000)
    const before = state.reads
    await clock.advance(3_300_000)
    expect(state.reads - before).toBeGreaterThanOrEqual(100)
    await events.close()
  })

  it('K10: if it does not answer, health shows that after 5 s, and a late answer counts', async () => {
    const answer = Promise.withResolvers<JournalContents>()
    const { disk, state, clock, recorder, sent, events } = await setUp(() => answer.promise)
    await clock.advance(4_999)
    expect(events.health().status).toBe('UP')
    await clock.advance(60_000)
    const problem = 'journal: not read after 5000 ms; check its disk, and which process has locked it'
    expect(events.health()).toMatchObject({ status: 'DEGRADED', stalls: [{ place: 'journal', problem }] })
    expect([state.reads, recorder.count('journalFailed')]).toEqual([1, 1])
    answer.resolve(await disk.pending())
    await clock.advance(1_000)
    expect([sent.length, events.health().status]).toEqual([LEFT, 'UP'])
    await events.close()
  })

  it('K10: is not read any more after close, and close does not wait for it', async () => {
    const { state, clock, recorder, events } = await setUp(locked)
    await clock.advance(1)
    const [reads, failures] = [state.reads, recorder.count('journalFailed')]
    const closed = events.close({ graceMs: 0 })
    await clock.advance(1)
    await closed
    await clock.advance(120_000)
    expect([state.reads, recorder.count('journalFailed'), clock.pending]).toEqual([reads, failures, 0])
  })

  it('K10: with nothing in it, costs one read', async () => {
    const { state, clock, events } = await setUp(async () => NOTHING)
    await clock.advance(120_000)
    expect([state.reads, events.health().status]).toEqual([1, 'UP'])
    await events.close()
  })
})
