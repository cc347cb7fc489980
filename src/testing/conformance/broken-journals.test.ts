import { describe, expect, it } from 'vitest'
import { changed, failing } from '../../../test/support/conformance.ts'
import { type MemoryJournal, memoryJournal } from '../../adapters/memory/index.ts'
import type { JournalEntry } from '../../ports/journal.ts'
import { FakeClock } from '../fake-clock.ts'
import { journalConformance } from './journal.ts'

type Break = readonly [
  what: string,
  caughtBy: string,
  broken: (whole: MemoryJournal) => Partial<MemoryJournal>,
]

const pendingOf = async (whole: MemoryJournal, change: (entries: JournalEntry[]) => JournalEntry[]) => ({
  entries: change([...(await whole.pending()).entries]),
  unreadable: [],
})

const JOURNALS: readonly Break[] = [
  [
    'lists newest first',
    'in order',
    whole => ({ pending: () => pendingOf(whole, entries => entries.toReversed()) }),
  ],
  ['removes nothing', 'removed events are not', () => ({ remove: async () => {} })],
  [
    'forgets the job',
    'replaces the sinks',
    whole => ({ append: ({ event, sinks }) => whole.append({ event, sinks }) }),
  ],
  [
    'forgets the sinks',
    'replaces the sinks',
    whole => ({ append: ({ event, job }) => whole.append({ event, job }) }),
  ],
  [
    'replaces sinks by none',
    'is there once',
    whole => ({
      append: async entry => {
        await whole.remove(entry.event.id)
        await whole.append(entry)
      },
    }),
  ],
  [
    'makes room by forgetting',
    'a full journal refuses',
    whole => ({
      append: async entry => {
        const [oldest] = (await whole.pending()).entries
        await whole.append(entry).catch(async () => {
          await whole.remove(oldest!.event.id)
          await whole.append(entry)
        })
      },
    }),
  ],
]

function define(broken: (whole: MemoryJournal) => Partial<MemoryJournal>) {
  return (test: Parameters<typeof journalConformance>[0]['test']) =>
    journalConformance({
      test,
      declares: { durable: true, bounded: true },
      setup: async ({ capacity: maxEvents }) => {
        const journal = changed(memoryJournal({ maxEvents }), broken)
        return { journal, clock: new FakeClock(), reopen: async () => journal }
      },
    })
}

describe('the journal suite', () => {
  it.each(JOURNALS)('catches a journal that %s', async (_, caughtBy, broken) => {
    expect(await failing(define(broken), caughtBy)).not.toEqual([])
  })

  it('accepts a correct journal', async () => {
    expect(
      await failing(
        define(() => ({})),
        '',
      ),
    ).toEqual([])
  })
})
