import type { LetterFilter, LetterStats, TimelineSpan } from '../../../ports/dead-letters.ts'
import { resolveLetterFilter } from '../../../ports/letter-query.ts'
import { resolveTimeline, Timeline } from '../../../ports/letter-timeline.ts'
import type { Kind } from './facts.ts'
import type { LetterLog } from './letter-log.ts'
import { READ_AT_ONCE, searchLetters } from './pages.ts'
import { type Found, matching } from './selection.ts'

export async function countLetters(log: LetterLog, filter: LetterFilter | undefined): Promise<LetterStats> {
  const counts = new Map<Kind, number>()
  let count = 0
  let oldestAt = Number.POSITIVE_INFINITY
  let newestAt = Number.NEGATIVE_INFINITY
  for await (const { rows, found } of matchingLetters(log, resolveLetterFilter(filter))) {
    const ofKinds = rows.kinds.map(() => 0)
    for (const row of found) {
      oldestAt = Math.min(oldestAt, rows.lastFailedAt(row))
      newestAt = Math.max(newestAt, rows.lastFailedAt(row))
      ofKinds[rows.kindNumber(row)]!++
    }
    count += found.length
    for (const [number, kind] of rows.kinds.entries()) counts.set(kind, ofKinds[number]!)
  }
  return {
    count,
    oldestAt: count === 0 ? undefined : oldestAt,
    newestAt: count === 0 ? undefined : newestAt,
    byState: countsBy(counts, 'state'),
    byReason: countsBy(counts, 'reason'),
    byChannel: countsBy(counts, 'channel'),
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
function countsBy(
  counts: ReadonlyMap<Kind, number>,
  name: 'state' | 'reason' | 'channel',
): Record<string, number> {
  const sums = new Map<string, number>()
  for (const [kind, count] of counts) if (count > 0) sums.set(kind[name], (sums.get(kind[name]) ?? 0) + count)
  return Object.fromEntries(sums)
}
