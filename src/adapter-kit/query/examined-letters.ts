// How every store answers the fields of a filter that no index has: it reads the letters that match the other fields, and
// compares them one by one. A sealed letter is compared after it was opened, because `list` opens it.
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { givenFields } from '../../core/options/merge.ts'
import type {
  DeadLetterStore,
  HandlerCount,
  LetterFilter,
  LetterPage,
  LetterQuery,
  LetterStats,
  SeenLetter,
  TimelineSpan,
} from '../../ports/dead-letters.ts'
import { type LetterOrder, type LetterPosition, letterPosition } from './letter-order.ts'
import {
  type ExaminedFilter,
  examinedMatcher,
  letterCursor,
  resolveLetterFilter,
  resolveLetterQuery,
} from './letter-query.ts'
import { HandlerCounter, LetterStatsCounter } from './letter-stats.ts'
import { resolveTimeline, Timeline } from './letter-timeline.ts'

/** Payloads may be of a megabyte each. */
const READ_AT_ONCE = 200

type Lister = Pick<DeadLetterStore, 'list'>

/** Whether a filter has a field that needs the letters themselves. */
export function isExamined(filter: LetterFilter | undefined): boolean {
  return filter !== undefined && Object.keys(givenFields(splitFilter(filter).examined)).length > 0
}

/** The part of a filter that stores have indexes for, and the part that they compare letter by letter. */
export function splitFilter<F extends LetterFilter>(
  filter: F,
): { readonly indexed: Omit<F, keyof ExaminedFilter>; readonly examined: ExaminedFilter } {
  const { release, error, minAttempts, maxAttempts, where, ...indexed } = filter
  return { indexed, examined: { release, error, minAttempts, maxAttempts, where } }
}

/** What `examineLetters` looks for. */
interface Examination {
  /** The part of the filter that the store answers by itself. */
  readonly indexed: LetterFilter
  readonly matches: (letter: DeadLetter) => boolean
  /** The most letters that are found. */
  readonly limit: number
  readonly order: LetterOrder
  /** The place behind which it begins. */
  readonly startAfter: LetterPosition | undefined
  /** The most letters that are read [all]. */
  readonly mostRead?: number | undefined
  /** Gets each letter that is found, in place of the list of them, which may hold much memory [the list]. */
  readonly count?: ((letter: DeadLetter) => void) | undefined
}

/** The letters found, and how far the examination came. */
export interface Examined {
  readonly letters: readonly DeadLetter[]
  /** The letters that were read to find them. */
  readonly examined: number
  /** The last letter that was read; undefined at the end of the listing. */
  readonly lookedUntil: LetterPosition | undefined
}

/** Reads letters from a cursor on until enough of them match, or enough are read. */
export async function examineLetters(
  store: Lister,
  { indexed, matches, limit, order, startAfter, mostRead = Number.POSITIVE_INFINITY, count }: Examination,
): Promise<Examined> {
  const visible = resolveLetterFilter(indexed)
  const { sort, isDescending } = order
  let place = startAfter
  const letters: DeadLetter[] = []
  let examined = 0
  while (examined < mostRead) {
    const page = await store.list({
      ...indexed,
      sort,
      order: isDescending ? 'desc' : 'asc',
      limit: READ_AT_ONCE,
      cursor: place === undefined ? undefined : letterCursor(place, visible, order),
    })
    for (const letter of page.letters) {
      examined++
      place = letterPosition(letter, order)
      if (!matches(letter)) continue
      if (count !== undefined) count(letter)
      else if (letters.push(letter) === limit) return { letters, examined, lookedUntil: place }
    }
    if (page.cursor === undefined) return { letters, examined, lookedUntil: undefined }
  }
  return { letters, examined, lookedUntil: place }
}

/** `list` of a store for such a filter. It reads as many letters as it takes. */
export async function listExamined(store: Lister, query: LetterQuery): Promise<LetterPage> {
  const { filter, limit, order, startAfter } = resolveLetterQuery(query)
  const { indexed, examined } = splitFilter(filter)
  const matches = examinedMatcher(examined)
  // One letter more tells whether there is a next page.
  const found = await examineLetters(store, { indexed, matches, limit: limit + 1, order, startAfter })
  const letters = found.letters.slice(0, limit)
  const last = found.letters.length > limit ? letters.at(-1) : undefined
  return { letters, cursor: last && letterCursor(letterPosition(last, order), filter, order) }
}

/** Every letter that matches, in portions. */
async function* examinedPortions(store: Lister, filter: LetterFilter): AsyncGenerator<readonly DeadLetter[]> {
  const { indexed, examined } = splitFilter(resolveLetterFilter(filter))
  const matches = examinedMatcher(examined)
  let cursor: string | undefined
  do {
    const page = await store.list({ ...indexed, limit: READ_AT_ONCE, cursor })
    yield page.letters.filter(matches)
    cursor = page.cursor
  } while (cursor !== undefined)
}

/** `versions` of a store for such a filter. */
export async function* examinedVersions(
  store: Lister,
  filter: LetterFilter,
): AsyncGenerator<readonly SeenLetter[]> {
  for await (const portion of examinedPortions(store, filter))
    yield portion.map(({ id, state, cycle: { lastFailedAt } }) => ({ id, state, lastFailedAt }))
}

/** `stats` of a store for such a filter. */
export async function examinedStats(store: Lister, filter: LetterFilter): Promise<LetterStats> {
  const figures = new LetterStatsCounter()
  for await (const portion of examinedPortions(store, filter))
    for (const letter of portion) figures.addLetter(letter)
  return figures.stats
}

/** `countByHandler` of a store for such a filter. */
export async function examinedHandlers(
  store: Lister,
  filter: LetterFilter,
): Promise<readonly HandlerCount[]> {
  const counter = new HandlerCounter()
  for await (const portion of examinedPortions(store, filter))
    for (const { channel, handler } of portion) counter.add(channel, handler, 1)
  return counter.counts
}

/** `timeline` of a store for such a filter. */
export async function examinedTimeline(
  store: Lister,
  filter: LetterFilter,
  span: TimelineSpan,
): Promise<readonly number[]> {
  const wanted = resolveTimeline(filter, span)
  const timeline = new Timeline(wanted.span)
  for await (const portion of examinedPortions(store, wanted.filter))
    for (const { cycle } of portion) timeline.add(cycle.lastFailedAt)
  return timeline.counts
}
