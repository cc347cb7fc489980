import { sumOf } from '../../../adapter-kit/expiry.ts'
import {
  compareLetters,
  isByTime,
  type LetterOrder,
  type LetterPosition,
  letterPosition,
} from '../../../adapter-kit/query/letter-order.ts'
import {
  letterCursor,
  type ResolvedLetterFilter,
  type ResolvedLetterQuery,
} from '../../../adapter-kit/query/letter-query.ts'
import { HandlerCounter, LetterStatsCounter } from '../../../adapter-kit/query/letter-stats.ts'
import { type resolveTimeline, Timeline } from '../../../adapter-kit/query/letter-timeline.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { HandlerCount, LetterPage, LetterStats, SeenLetter } from '../../../ports/dead-letters.ts'
import { numberOf, pairsOf } from '../connection/replies.ts'
import { countFacets, countFacetTimes, type FacetFields, readFacet, readFacets } from './count-scripts.ts'
import { type Found, readBodies, readPage, readValues } from './facet-scripts.ts'
import { FIELD_NAMES, type ScanFilter, scanFilterOf } from './facts.ts'
import type { LetterRecords } from './letter-records.ts'
import { countIntervals, totals } from './scripts.ts'

/** The letters that one script reads or checks, and the facets. They take a few milliseconds, in which the server does nothing else. */
const LETTERS_AT_ONCE = 1_000
const FACETS_AT_ONCE = 1_000
/** Up to this many letters of some days are sorted by their first failure in one script. More are found by the index of their facets. */
const MAX_SORTED = 20_000
/** Texts of letters come in smaller portions: they may be large. */
const READ_AT_ONCE = 200
const FACETS_BY_TIME_AT_ONCE = 50

export async function listLetters(records: LetterRecords, query: ResolvedLetterQuery): Promise<LetterPage> {
  const { filter, limit, order, startAfter } = query
  const letters: DeadLetter[] = []
  const search = scanFilterOf(filter).search
  for await (const ids of lettersInOrder(records, filter, order, startAfter, limit + 1)) {
    for (let from = 0; from < ids.length && letters.length <= limit; from += READ_AT_ONCE) {
      const bodies = await records.runIdempotent(readBodies, [
        search,
        ...ids.slice(from, from + READ_AT_ONCE),
      ])
      for (const body of bodies) if (body !== '') letters.push(records.decode(body))
    }
    if (letters.length > limit) break
  }
  const { shown, cursor } = pageOf(letters, limit, last =>
    letterCursor(letterPosition(last, order), filter, order),
  )
  return { letters: shown, cursor }
}

/** The ids of the letters from a place on, in portions, in the order of the list. A text is not compared. */
async function* lettersInOrder(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
  order: LetterOrder,
  startAfter: LetterPosition | undefined,
  most: number,
): AsyncGenerator<readonly string[]> {
  const wanted = scanFilterOf(filter)
  if (isByTime(order)) {
    yield* timedLetters(records, wanted, order, startAfter, most)
    return
  }
  const field = FIELD_NAMES[order.sort as keyof typeof FIELD_NAMES]
  const direction = order.isDescending ? 'desc' : 'asc'
  const start = startAfter === undefined ? ['', ''] : ['1', String(startAfter.value)]
  const newestFirst = { sort: 'lastFailed', isDescending: true } as const
  for (const value of await records.runAfterExpiry(readValues, [field, direction, ...start])) {
    // Letters of the value that the page before ended with go on behind it, those of other values begin with the newest.
    const isSame = startAfter !== undefined && value === String(startAfter.value)
    const place = isSame ? { lastFailedAt: startAfter.lastFailedAt, id: startAfter.id } : undefined
    const fields = [...wanted.fields, field, value]
    yield* timedLetters(records, { ...wanted, fields }, newestFirst, place, most)
  }
}

async function* timedLetters(
  records: LetterRecords,
  wanted: ScanFilter,
  order: LetterOrder,
  startAfter: LetterPosition | undefined,
  most: number,
): AsyncGenerator<readonly string[]> {
  for (let place: Found | undefined = startAfter && placeOf(startAfter), isMore = true; isMore; ) {
    const found: readonly Found[] = await readInOrder(records, wanted, order, place, most)
    if (found.length > 0) yield found.map(({ id }) => id)
    place = found.at(-1)
    isMore = found.length === most
  }
}

function placeOf({ lastFailedAt, id, value = lastFailedAt }: LetterPosition): Found {
  return { id, score: String(value) }
}

/** A page of all facets. Many facets are read in several scripts, whose pages are merged. */
async function readInOrder(
  records: LetterRecords,
  { fields, after, before }: ScanFilter,
  order: LetterOrder,
  place: Found | undefined,
  most: number,
): Promise<readonly Found[]> {
  const kind = [order.sort === 'firstFailed' ? 'f' : 'l', order.isDescending ? 'desc' : 'asc']
  const from = [place?.score ?? '', place?.id ?? '', String(most)]
  const byScore = { sort: 'lastFailed', isDescending: order.isDescending } as const
  let found: Found[] = []
  for (let start = 0, facets = 1; start < facets; start += FACETS_AT_ONCE) {
    const portion = [String(start), String(FACETS_AT_ONCE), String(MAX_SORTED)]
    const page = await records.runAfterExpiry(readPage, [
      ...kind,
      after,
      before,
      ...from,
      ...portion,
      ...fields,
    ])
    facets = page.facets
    found = start === 0 ? [...page.found] : [...found, ...page.found]
  }
  if (found.length <= most) return found
  const position = ({ id, score }: Found) => ({ lastFailedAt: Number(score), id })
  return found.sort((a, b) => compareLetters(position(a), position(b), byScore)).slice(0, most)
}

export async function countLetters(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
): Promise<LetterStats> {
  if (Object.values(filter).every(each => each === undefined))
    return totalsOf(await records.runAfterExpiry(totals, []))
  const counter = new LetterStatsCounter()
  for await (const { facet, count, oldestAt, newestAt } of countsByFacet(records, filter))
    counter.add(facet, count, oldestAt, newestAt)
  return counter.stats
}

export async function countByHandler(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
): Promise<readonly HandlerCount[]> {
  const counter = new HandlerCounter()
  for await (const { facet, count } of countsByFacet(records, filter))
    counter.add(facet.channel, facet.handler, count)
  return counter.counts
}

/** The counts of every facet that has letters which match. A search looks into these letters, anything else into the index alone. */
async function* countsByFacet(records: LetterRecords, filter: ResolvedLetterFilter) {
  const { search, after, before, fields } = scanFilterOf(filter)
  if (search !== '') {
    for await (const { facet, found } of foundByFacet(records, filter))
      for (const { score } of found)
        yield { facet, count: 1, oldestAt: Number(score), newestAt: Number(score) }
    return
  }
  for (let start = 0, facets = 1; start < facets; start += FACETS_AT_ONCE) {
    const portion = [String(start), String(FACETS_AT_ONCE)]
    const counted = await records.runAfterExpiry(countFacets, [after, before, ...portion, ...fields])
    facets = counted.facets
    for (const { count, oldestAt, newestAt, ...facet } of counted.counts)
      yield { facet, count, oldestAt, newestAt }
  }
}

/** Reads what `totals` answers: the oldest time, the newest, then fields such as `s:dead` with their counts. */
function totalsOf([oldestAt, newestAt, ...counts]: readonly unknown[]): LetterStats {
  const by = (field: string): Record<string, number> =>
    Object.fromEntries(
      pairsOf(counts).flatMap(([name, count]) =>
        name.startsWith(field) ? [[name.slice(field.length), numberOf(count)]] : [],
      ),
    )
  const byState = by('s:')
  const isEmpty = oldestAt === undefined
  return {
    count: sumOf(byState),
    oldestAt: isEmpty ? undefined : numberOf(oldestAt),
    newestAt: isEmpty ? undefined : numberOf(newestAt),
    byState,
    byReason: by('r:'),
    byChannel: by('c:'),
  }
}

export async function countOverTime(
  records: LetterRecords,
  { filter, span }: ReturnType<typeof resolveTimeline>,
): Promise<readonly number[]> {
  const wanted = scanFilterOf(filter)
  const timeline = new Timeline(span)
  if (wanted.search !== '') {
    for await (const { found } of foundByFacet(records, filter))
      for (const { score } of found) timeline.add(Number(score))
    return timeline.counts
  }
  const bounds = boundsOf(wanted, span)
  if (wanted.fields.length === 0) return records.runAfterExpiry(countIntervals, ['', '', ...bounds])
  if (wanted.fields.length === 2 && wanted.fields[0] === FIELD_NAMES.group)
    return records.runAfterExpiry(countIntervals, [...wanted.fields, ...bounds])
  const facets = await records.runAfterExpiry(readFacets, wanted.fields)
  for (let from = 0; from < facets.length; from += FACETS_BY_TIME_AT_ONCE) {
    const some = facets.slice(from, from + FACETS_BY_TIME_AT_ONCE).map(({ id }) => id)
    const counts = await records.runIdempotent(countFacetTimes, [String(some.length), ...some, ...bounds])
    for (const [bucket, count] of counts.entries()) timeline.counts[bucket]! += count
  }
  return timeline.counts
}

/** The filter may narrow the first and the last bucket. */
function boundsOf(
  { after, before }: ScanFilter,
  { from, bucketMs, buckets }: ReturnType<typeof resolveTimeline>['span'],
): readonly string[] {
  return Array.from({ length: buckets }, (_, bucket) => {
    const start = from + bucket * bucketMs
    return [
      String(Math.max(start, Number(after))),
      String(Math.min(from + (bucket + 1) * bucketMs, Number(before))),
    ]
  }).flat()
}

/** The letters that match, facet by facet, in portions between which the server can do other work. */
async function* foundByFacet(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
): AsyncGenerator<{ readonly facet: FacetFields; readonly found: readonly Found[] }> {
  const { fields, after, before, search } = scanFilterOf(filter)
  for (const facet of await records.runAfterExpiry(readFacets, fields))
    for (let place: Found | undefined, isMore = true; isMore; isMore = place !== undefined) {
      const from = [String(LETTERS_AT_ONCE), place?.score ?? '', place?.id ?? '']
      const portion = await records.runIdempotent(readFacet, [facet.id, after, before, search, ...from])
      yield { facet, found: portion.found }
      place = portion.next
    }
}

/** The versions of the letters that match, in portions. */
export async function* versionsOf(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
): AsyncGenerator<readonly SeenLetter[]> {
  for await (const { facet, found } of foundByFacet(records, filter))
    yield found.map(({ id, score }) => ({ id, state: facet.state, lastFailedAt: Number(score) }))
}
