import { masksOfEvent } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { auditedFilter } from '../../operations/filter-words.ts'
import type { Context } from '../command.ts'
import { filterOf, type listFlags } from '../flags/letters.ts'
import type { ExitCode, Io } from '../io.ts'
import { jsonLine, letterOutside } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor, stateColour } from '../print/style.ts'
import { type Column, Table } from '../print/table.ts'
import { iso, relative } from '../print/times.ts'
import { NO_MASKS, revealing } from '../reveal.ts'
import { withStore } from '../session.ts'

const DEFAULT_LISTED = 100
const PAGE = 200

export function dlqList({ io, flags }: Context<typeof listFlags>): Promise<ExitCode> {
  return withStore(io, flags, async session => {
    const filter = filterOf(flags)
    const reveals = flags.reveal === true
    if (reveals) await revealing(session, auditedFilter(filter))
    const toText = flags.json
      ? (letters: readonly DeadLetter[]) =>
          letters.map(letter => jsonLine(letterOutside(letter, reveals ? 'reveal' : session.masks))).join('')
      : letterTable(io, reveals ? NO_MASKS : session.masks)
    let left = flags.limit ?? DEFAULT_LISTED
    let cursor = flags.cursor
    let isEmpty = true
    do {
      const page = await session.store.deadLetters.list({ ...filter, limit: Math.min(left, PAGE), cursor })
      if (page.letters.length > 0) await io.stdout.write(toText(page.letters))
      isEmpty &&= page.letters.length === 0
      left -= page.letters.length
      cursor = page.cursor
    } while (cursor !== undefined && left > 0)
    if (isEmpty) await io.stderr.write('no dead letters match\n')
    if (cursor !== undefined) await io.stderr.write(`there are more: repeat with --cursor ${cursor}\n`)
    return 0
  })
}

function letterTable(io: Io, masks: Masks): (letters: readonly DeadLetter[]) => string {
  const now = io.clock.now()
  const isTerminal = io.stdout.isTerminal
  const columns: Column<DeadLetter>[] = [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'STATE', cell: ({ state }) => state, colour: ({ state }) => stateColour(state) },
    { title: 'CHANNEL', cell: ({ channel }) => safeText(channel), shrinksTo: 8 },
    { title: 'TYPE', cell: ({ event }) => safeText(event.type), shrinksTo: 8, dropAt: 2 },
    { title: 'REASON', cell: ({ cycle }) => safeText(cycle.reason), dropAt: 3 },
    { title: 'TRIES', cell: ({ cycle }) => String(cycle.attemptCount), dropAt: 4 },
    {
      title: 'FAILED',
      // A person asks how long ago, a program when.
      cell: ({ cycle }) => (isTerminal ? relative(cycle.lastFailedAt, now) : iso(cycle.lastFailedAt)),
    },
    {
      title: 'ERROR',
      cell: letter => safeText(masksOfEvent(letter.event, masks).maskText(errorOf(letter))),
      shrinksTo: 24,
    },
  ]
  const table = new Table(columns, paintFor(io.stdout, io.env), io.stdout.columns)
  return letters => table.page(letters)
}

function errorOf({ cycle }: DeadLetter): string {
  const { failure } = cycle
  return failure === undefined ? '-' : `${failure.name}: ${failure.message}`
}
