import assert from 'node:assert/strict'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { Journal, JournalEntry } from '../../ports/journal.ts'
import { type Fixture, sortedIds, type TestFunction, testsIn, unlessDeclared, World } from './harness.ts'

/** What an adapter gives the suite for each test: an empty journal of its own. */
export interface JournalFixture extends Fixture<Journal> {
  readonly journal: Journal
}

/** What `journalConformance()` needs to test a journal. */
export interface JournalConformance {
  readonly test: TestFunction
  /** `capacity` is the number of events that the journal can hold, in tests of that limit. */
  readonly setup: (wanted: { readonly capacity?: number | undefined }) => Promise<JournalFixture>
  readonly declares: {
    /** Entries survive the end of the process; the fixture has `reopen`. */
    readonly durable: boolean
    /** The journal has a configurable capacity. */
    readonly bounded: boolean
  }
}

class JournalWorld extends World<Journal, JournalFixture> {
  get journal(): Journal {
    return this.port
  }
}

const CAPACITY = 3

/** Every sentence of the journal port's contract, as tests. */
export function journalConformance({ test, setup, declares }: JournalConformance): void {
  const inWorld = (skipBecause?: string, capacity?: number) =>
    testsIn(
      test,
      async () => {
        const fixture = await setup({ capacity })
        return new JournalWorld(fixture, fixture.journal)
      },
      skipBecause,
    )
  const it = inWorld()
  const itDurable = inWorld(unlessDeclared(declares, 'durable'))
  const itBounded = inWorld(unlessDeclared(declares, 'bounded'), CAPACITY)

  it('E21: a new journal is empty', async ({ journal }) => {
    assert.deepEqual(await journal.pending(), { entries: [], unreadable: [] })
  })

  it('E21: appended events are there, whole and in order; removed events are not', async world => {
    const events = world.make.events(5, { payload: new Uint8Array([0, 255]), headers: { trace: 'ü' } })
    for (const event of events) await world.journal.append({ event })
    await world.journal.remove(events[1]!.id)
    await world.journal.remove('no-such-event')
    assert.deepEqual(
      await eventsOf(world.journal),
      [0, 2, 3, 4].map(index => events[index]),
    )
  })

  it('E21: concurrent appends and removals all take effect', async ({ journal, make }) => {
    const events = make.events(200)
    await Promise.all(events.map(event => journal.append({ event })))
    const isGone = (_: LazaretEvent, index: number) => index % 2 === 0
    await Promise.all(events.filter(isGone).map(({ id }) => journal.remove(id)))
    const left = events.filter((event, index) => !isGone(event, index))
    assert.deepEqual(sortedIds(await eventsOf(journal)), sortedIds(left))
  })

  it('E21: an event that is appended twice is there once', async ({ journal, make }) => {
    const event = make.event()
    await journal.append({ event, sinks: ['loki'] })
    await journal.append({ event })
    assert.deepEqual(await entriesOf(journal), [{ event, sinks: ['loki'], job: undefined }])
    await journal.remove(event.id)
    assert.deepEqual(await entriesOf(journal), [])
  })

  it('E21: a later append replaces the sinks that the event still lacks', async ({ journal, make }) => {
    const event = make.event()
    await journal.append({ event, job: 'SendEmailJob' })
    await journal.append({ event, sinks: ['loki', 'audit'], job: 'SendEmailJob' })
    await journal.append({ event, sinks: ['audit'], job: 'SendEmailJob' })
    assert.deepEqual(await entriesOf(journal), [{ event, sinks: ['audit'], job: 'SendEmailJob' }])
  })

  it('E21: closing twice is safe', async ({ journal }) => {
    await journal.close?.()
    await journal.close?.()
  })

  itBounded('E21: a full journal refuses another event and keeps its events', async ({ journal, make }) => {
    const [first, ...others] = make.events(CAPACITY)
    for (const event of [first!, ...others]) await journal.append({ event })
    const late = make.event()
    await assert.rejects(async () => journal.append({ event: late }), { code: 'LAZARET_JOURNAL_FULL' })
    await journal.append({ event: first!, sinks: ['loki'] })
    assert.deepEqual(sortedIds(await eventsOf(journal)), sortedIds([first!, ...others]))
    await journal.remove(others[0]!.id)
    await journal.append({ event: late })
    assert.deepEqual(sortedIds(await eventsOf(journal)), sortedIds([first!, ...others.slice(1), late]))
  })

  itBounded('E21: of concurrent appends it accepts as many as its capacity allows', async world => {
    const { journal, make } = world
    const ends = await Promise.allSettled(make.events(10).map(event => journal.append({ event })))
    assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, CAPACITY)
    assert.equal((await entriesOf(journal)).length, CAPACITY)
  })

  itDurable('E21: events that were appended and not removed are there after a restart', async world => {
    const events = world.make.events(4)
    for (const event of events) await world.journal.append({ event, job: 'SendEmailJob' })
    await world.journal.append({ event: events[3]!, sinks: ['loki'] })
    await world.journal.remove(events[0]!.id)
    await world.reopen()
    const [, second, third, fourth] = events
    assert.deepEqual(await entriesOf(world.journal), [
      { event: second, sinks: undefined, job: 'SendEmailJob' },
      { event: third, sinks: undefined, job: 'SendEmailJob' },
      { event: fourth, sinks: ['loki'], job: undefined },
    ])
    await world.journal.append({ event: events[0]! })
    assert.equal((await entriesOf(world.journal)).length, 4)
  })
}

/** Sets all fields, so that a missing field and an undefined field are equal. */
async function entriesOf(journal: Journal): Promise<JournalEntry[]> {
  const { entries, unreadable } = await journal.pending()
  assert.deepEqual(unreadable, [])
  return entries.map(({ event, sinks, job }) => ({ event, sinks, job }))
}

async function eventsOf(journal: Journal): Promise<LazaretEvent[]> {
  return (await entriesOf(journal)).map(({ event }) => event)
}
