import { masksOfLetter } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { auditedFilter } from '../../operations/filter-text.ts'
import { MAX_COUNTED } from '../../operations/max-counted.ts'
import { masksFor, ReplayPatches } from '../../operations/replay-patches.ts'
import { findLetter } from '../find-by-id.ts'
import { filterOf, type listFlags, type showFlags, type statsFlags } from '../flags.ts'
import type { Io } from '../io.ts'
import { counted, fieldLines, heading } from '../print/fields.ts'
import { formatLetter } from '../print/format-letter.ts'
import { jsonLine, letterJson, toJson } from '../print/json.ts'
import { writePages } from '../print/pages.ts'
import { safeText } from '../print/safe-text.ts'
import { paintFor, stateColour } from '../print/style.ts'
import { ageColumn, type Column, tableOn } from '../print/table.ts'
import { isoAndRelative } from '../print/times.ts'
import { auditReveal, NO_MASKS, onStore } from '../session.ts'

const PAGE = 200

export const dlqList = onStore<typeof listFlags>(async (session, { io, flags }) => {
  const { deadLetters } = session.store
  const filter = filterOf(flags)
  const reveals = flags.reveal === true
  if (reveals) await auditReveal(session, auditedFilter(filter))
  const patches = new ReplayPatches(session.store.replays, session.masks)
  const toText = flags.json
    ? (letters: readonly DeadLetter[]) =>
        letters.map(letter => jsonLine(letterJson(letter, reveals ? 'reveal' : patches.masks))).join('')
    : letterTable(io, reveals ? NO_MASKS : patches.masks)
  const isFiltered = Object.keys(filter).length > 0
  const listing = { command: 'dlq list', what: 'dead letters', isFiltered }
  await writePages(io, flags, listing, async (left, cursor) => {
    const startAt = cursor === undefined ? flags['start-at'] : undefined
    const order = { sort: flags.sort, order: flags.order, startAt }
    const page = await deadLetters.list({ ...filter, ...order, limit: Math.min(left, PAGE), cursor })
    const { letters } = page
    await patches.read(letters)
    return { count: letters.length, text: letters.length > 0 ? toText(letters) : '', cursor: page.cursor }
  })
})

function letterTable(io: Io, masks: Masks): (letters: readonly DeadLetter[]) => string {
  const columns: Column<DeadLetter>[] = [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'STATE', cell: ({ state }) => state, colour: ({ state }) => stateColour(state) },
    { title: 'CHANNEL', cell: ({ channel }) => safeText(channel), shrinksTo: 8 },
    // The handler or sink that gave up. It stays on a narrow terminal, because it names the culprit.
    { title: 'HANDLER', cell: ({ handler }) => safeText(handler), shrinksTo: 8 },
    { title: 'TYPE', cell: ({ event }) => safeText(event.type), shrinksTo: 8, dropAt: 2 },
    { title: 'REASON', cell: ({ cycle }) => safeText(cycle.reason), dropAt: 3 },
    { title: 'ATTEMPTS', cell: ({ cycle }) => String(cycle.attemptCount), dropAt: 4 },
    { ...ageColumn<DeadLetter>(io, 'FAILED', ({ cycle }) => cycle.lastFailedAt), dropAt: 1 },
    {
      title: 'ERROR',
      cell: letter => safeText(masksOfLetter(letter, masks).maskText(errorOf(letter))),
      shrinksTo: 24,
    },
  ]
  const table = tableOn(io, columns)
  return letters => table.page(letters)
}

function errorOf({ cycle }: DeadLetter): string {
  const { failure } = cycle
  return failure === undefined ? '-' : `${failure.name}: ${failure.message}`
}

export const dlqShow = onStore<typeof showFlags>(async (session, { io, args, flags }) => {
  const letter = await findLetter(session.store, args[0]!)
  const reveals = flags.reveal === true
  if (reveals) await auditReveal(session, { target: letter.id })
  const masks = await masksFor(session.store, [letter], session.masks)
  const text = flags.json
    ? jsonLine(letterJson(letter, reveals ? 'reveal' : masks))
    : formatLetter(letter, {
        masks: reveals ? NO_MASKS : masks,
        isRevealed: reveals,
        now: io.clock.now(),
        paint: paintFor(io.stdout, io.env),
      })
  await io.stdout.write(text)
})

export const dlqStats = onStore<typeof statsFlags>(async ({ store }, { io, flags }) => {
  const stats = await store.deadLetters.stats(filterOf(flags), flags.exact ? {} : { stopAt: MAX_COUNTED })
  if (flags.json) return io.stdout.write(jsonLine(toJson(stats)))
  const paint = paintFor(io.stdout, io.env)
  const now = io.clock.now()
  const { count, atLeast, oldestAt, newestAt, byState, byReason, byChannel } = stats
  const letters = counted(count, 'dead letter')
  await io.stdout.write(
    [
      atLeast ? `more than ${letters}; --exact counts all of them\n` : `${letters}\n`,
      fieldLines(
        [
          ['oldest', oldestAt === undefined ? undefined : isoAndRelative(oldestAt, now)],
          ['newest', newestAt === undefined ? undefined : isoAndRelative(newestAt, now)],
        ],
        paint,
      ),
      ...Object.entries({ 'By state': byState, 'By reason': byReason, 'By channel': byChannel }).map(
        ([title, counts]) =>
          Object.keys(counts).length === 0
            ? ''
            : heading(title, paint) + fieldLines(ranked(counts, atLeast ? 'at least ' : ''), paint),
      ),
    ].join(''),
  )
})

/** Most first. */
function ranked(counts: Readonly<Record<string, number>>, bound: string): [string, string][] {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => [safeText(name), `${bound}${count}`])
}
