import type { LetterPosition } from '../../../adapter-kit/query/letter-order.ts'
import {
  letterCursor,
  matchesFilter,
  resolveLetterFilter,
  resolveLetterQuery,
} from '../../../adapter-kit/query/letter-query.ts'
import { HandlerCounter, LetterStatsCounter } from '../../../adapter-kit/query/letter-stats.ts'
import { resolveTimeline, Timeline } from '../../../adapter-kit/query/letter-timeline.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type {
  HandlerCount,
  LetterFilter,
  LetterPage,
  LetterQuery,
  LetterStats,
  SeenLetter,
  TimelineSpan,
} from '../../../ports/dead-letters.ts'
import type { JournalRecord } from '../journal/line.ts'
import type { LetterLog } from './letter-log.ts'
import { letterOf, peekLetter } from './record.ts'
import { byKind, inOrder, type MatchingRows, matching } from './selection.ts'

/** The letters that are read together and decoded in one turn of the event loop. */
const READ_AT_ONCE = 64

/**
 * Lists a page of letters. Without a search it reads only the letters of the page. A search also reads the letters that
 * it skips.
 */
export async function listLetters(log: LetterLog, query: LetterQuery | undefined): Promise<LetterPage> {
  const { filter, limit, order, startAfter } = resolveLetterQuery(query)
  const { search, ...visible } = filter
  const places: LetterPosition[] = []
  const letters: DeadLetter[] = []
  const portion = search === undefined ? limit + 1 : READ_AT_ONCE
  for await (const found of inOrder(log.index, visible, order, startAfter, portion)) {
    if (search === undefined) places.push(...found)
    else {
      for (const letter of await searchLetters(log, idsOf(found), search)) {
        letters.push(letter)
        places.push(found.find(place => place.id === letter.id)!)
      }
    }
    if (places.length > limit) break
  }
  const { shown, cursor } = pageOf(places, limit, last => letterCursor(last, filter, order))
  return {
    letters: search === undefined ? await readPage(log, idsOf(shown)) : letters.slice(0, limit),
    cursor,
  }
}

export async function countLetters(log: LetterLog, filter: LetterFilter | undefined): Promise<LetterStats> {
  const figures = new LetterStatsCounter()
  for await (const found of matchingLetters(log, resolveLetterFilter(filter)))
    for (const { kind, count, oldestAt, newestAt } of byKind(found))
      figures.add(kind, count, oldestAt, newestAt)
  return figures.stats
}

export async function countByHandler(
  log: LetterLog,
  filter: LetterFilter | undefined,
): Promise<readonly HandlerCount[]> {
  const counter = new HandlerCounter()
  for await (const found of matchingLetters(log, resolveLetterFilter(filter)))
    for (const { kind, count } of byKind(found)) counter.add(kind.channel, kind.handler, count)
  return counter.counts
}

export async function countOverTime(
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

/** Answered by the index alone, unless there is a search. */
export async function* versionsOf(
  log: LetterLog,
  filter: LetterFilter | undefined,
): AsyncGenerator<readonly SeenLetter[]> {
  for await (const { rows, found } of matchingLetters(log, resolveLetterFilter(filter)))
    yield found.map(row => ({
      id: rows.idOf(row),
      state: rows.kinds[rows.kindNumber(row)]!.state,
      lastFailedAt: rows.lastFailedAt(row),
    }))
}

async function* matchingLetters(log: LetterLog, filter: LetterFilter): AsyncGenerator<MatchingRows> {
  const { search, ...visible } = filter
  for await (const { rows, found } of matching(log.index, visible))
    yield { rows, found: search === undefined ? found : await rowsContaining(log, { rows, found }, search) }
}

async function rowsContaining(
  log: LetterLog,
  { rows, found }: MatchingRows,
  search: string,
): Promise<number[]> {
  const telling: number[] = []
  for (let start = 0; start < found.length; start += READ_AT_ONCE) {
    const byId = new Map(found.slice(start, start + READ_AT_ONCE).map(row => [rows.idOf(row), row]))
    for (const { id } of await searchLetters(log, [...byId.keys()], search)) telling.push(byId.get(id)!)
  }
  return telling
}

/** Returns the letters that contain the text. */
async function searchLetters(log: LetterLog, ids: readonly string[], search: string): Promise<DeadLetter[]> {
  const found: DeadLetter[] = []
  const mayTell = couldContain(search)
  await log.read(ids, record => {
    // A sealed record does not show its text before it is decrypted.
    if (log.codec.texts === undefined && !mayTell(record)) return undefined
    const seen = log.codec.texts === undefined ? peekLetter(record, log.codec) : letterOf(record, log.codec)
    if (matchesFilter(seen, { search })) found.push(letterOf(record, log.codec))
    return seen
  })
  const order = new Map(ids.map((id, index) => [id, index]))
  return found.sort((a, b) => order.get(a.id)! - order.get(b.id)!)
}

/** A text of a letter is also in its record, in JSON form. So most letters without the text need not be parsed. */
function couldContain(search: string): (record: JournalRecord) => boolean {
  const asWritten = JSON.stringify(search.toLowerCase()).slice(1, -1)
  return ({ text }) => !text.startsWith('{') || text.toLowerCase().includes(asWritten)
}

async function readPage(log: LetterLog, ids: readonly string[]): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = []
  for (let start = 0; start < ids.length; start += READ_AT_ONCE) {
    for (const letter of await log.read(ids.slice(start, start + READ_AT_ONCE))) {
      if (letter !== undefined) letters.push(letter)
    }
  }
  return letters
}

function idsOf(places: readonly LetterPosition[]): string[] {
  return places.map(({ id }) => id)
}
