import { resolveLetterFilter } from '../../../adapter-kit/query/letter-query.ts'
import { resolveTimeline, Timeline } from '../../../adapter-kit/query/letter-timeline.ts'
import type { LetterFilter, LetterStats, TimelineSpan } from '../../../ports/dead-letters.ts'
import { byKind, type OfKind } from './by-kind.ts'
import type { LetterLog } from './letter-log.ts'
import { READ_AT_ONCE, searchLetters } from './pages.ts'
import { type Found, matching } from './selection.ts'

export async function countLetters(log: LetterLog, filter: LetterFilter | undefined): Promise<LetterStats> {
  const all: OfKind[] = []
  let count = 0
  let oldestAt = Number.POSITIVE_INFINITY
  let newestAt = Number.NEGATIVE_INFINITY
  for await (const found of matchingLetters(log, resolveLetterFilter(filter)))
    for (const letters of byKind(found)) {
      all.push(letters)
      count += letters.count
      oldestAt = Math.min(oldestAt, letters.oldestAt)
      newestAt = Math.max(newestAt, letters.newestAt)
    }
  return {
    count,
    oldestAt: count === 0 ? undefined : oldestAt,
    newestAt: count === 0 ? undefined : newestAt,
    byState: countsBy(all, 'state'),
    byReason: countsBy(all, 'reason'),
    byChannel: countsBy(all, 'channel'),
  }
}

export async function timeLetters(
  log: LetterLog,
  filter: LetterFilter,
  span: TimelineSpan,
): Promise<readonly number[]> {
  const wanted = resolveTimeline(filter, span)
  const timeline = new Timeline(wanted.span)
  for await (const { rows, found } of matchingLetters(log, wanted.filter))
    for (const row of found) timeline.add(rows.lastFailedAt(row))
  return timeline.counts
}

async function* matchingLetters(log: LetterLog, filter: LetterFilter): AsyncGenerator<Found> {
  const { search, ...visible } = filter
  for await (const { rows, found } of matching(log.index, visible))
    yield { rows, found: search === undefined ? found : await rowsTelling(log, { rows, found }, search) }
}

async function rowsTelling(log: LetterLog, { rows, found }: Found, search: string): Promise<number[]> {
  const telling: number[] = []
  for (let start = 0; start < found.length; start += READ_AT_ONCE) {
    const byId = new Map(found.slice(start, start + READ_AT_ONCE).map(row => [rows.idOf(row), row]))
    for (const { id } of await searchLetters(log, [...byId.keys()], search)) telling.push(byId.get(id)!)
  }
  return telling
}

/** Added up by name. A name may be one that an object's prototype uses; fromEntries makes own properties only. */
function countsBy(all: readonly OfKind[], name: 'state' | 'reason' | 'channel'): Record<string, number> {
  const sums = new Map<string, number>()
  for (const { kind, count } of all) sums.set(kind[name], (sums.get(kind[name]) ?? 0) + count)
  return Object.fromEntries(sums)
}
