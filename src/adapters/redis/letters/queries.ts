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
import { readableLetter } from '../../../adapter-kit/query/readable-letters.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { HandlerCount, LetterPage, LetterStats, SeenLetter } from '../../../ports/dead-letters.ts'
import { numberOf, pairsOf } from '../connection/replies.ts'
import {
  countFacets,
  countFacetTimes,
  type FacetFields,
  readFacetLetters,
  readFacets,
} from './count-scripts.ts'
import { type Found, readBodies, readPage, readValues } from './facet-scripts.ts'
import { FIELD_NAMES, type ScanFilter, scanFilterOf } from './facts.ts'
import type { LetterRecords } from './letter-records.ts'
import { countIntervals, totals } from './scripts.ts'

/** The letters that one script reads or checks, and the facets. They take a few milliseconds, in which the server does nothing else. */
const LETTERS_AT_ONCE = 1_000
const FACETS_AT_ONCE = 1_000
/** The values of the field that a list is sorted by, of one script. It reads as many of them as the page needs. */
const VALUES_AT_ONCE = 500
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
      for (const body of bodies) {
        const letter = body === '' ? undefined : readableLetter(() => records.decode(body))
        if (letter !== undefined) letters.push(letter)
      }
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
    yield* timedLetters(records, { wanted, order, most }, startAfter && placeOf(startAfter))
    return
  }
  const field = FIELD_NAMES[order.sort as keyof typeof FIELD_NAMES]
  const direction = order.isDescending ? 'desc' : 'asc'
  const start = startAfter === undefined ? ['', ''] : ['1', String(startAfter.value)]
  const values = await records.runAfterExpiry(readValues, [field, direction, ...start])
  // Letters of the value that the page before ended with go on behind it, those of other values begin with the newest.
  const isSame = startAfter !== undefined && values[0] === String(startAfter.value)
  const place = isSame ? { id: startAfter.id, score: String(startAfter.lastFailedAt) } : undefined
  const newestFirst = { sort: 'lastFailed', isDescending: true } as const
  yield* timedLetters(records, { wanted, order: newestFirst, most, sorted: { field, values } }, place)
}

/** What a page is read for. */
interface TimedQuery {
  readonly wanted: ScanFilter
  readonly order: LetterOrder
  readonly most: number
  /** The values of a list by a field, in order. The letters of each value are by time. */
  readonly sorted?: { readonly field: string; readonly values: readonly string[] }
}

async function* timedLetters(
  records: LetterRecords,
  query: TimedQuery,
  startAfter: Found | undefined,
): AsyncGenerator<readonly string[]> {
  const end = query.sorted?.values.length ?? 1
  for (let at = 0, place = startAfter; at < end; ) {
    const { found, value } = await readInOrder(records, query, at, place)
    if (found.length > 0) yield found.map(({ id }) => id)
    const isFull = found.length === query.most
    place = isFull ? found.at(-1) : undefined
    at += isFull ? value : value + 1
  }
}

function placeOf({ lastFailedAt, id, value = lastFailedAt }: LetterPosition): Found {
  return { id, score: String(value) }
}

/** A page of all facets. Many facets are read in several scripts, whose pages are merged. */
async function readInOrder(
  records: LetterRecords,
  { wanted, order, most, sorted }: TimedQuery,
  firstValue: number,
  place: Found | undefined,
): Promise<{ readonly found: readonly Found[]; readonly value: number }> {
  const kind = [order.sort === 'firstFailed' ? 'f' : 'l', order.isDescending ? 'desc' : 'asc']
  const from = [place?.score ?? '', place?.id ?? '', String(most)]
  const byScore = { sort: 'lastFailed', isDescending: order.isDescending } as const
  let values = sorted?.values.slice(firstValue, firstValue + VALUES_AT_ONCE) ?? []
  let found: Found[] = []
  let value = 0
  for (let start = 0, facets = 1; start < facets; start += FACETS_AT_ONCE) {
    const portion = [String(start), String(FACETS_AT_ONCE), String(MAX_SORTED)]
    const page = await records.runAfterExpiry(readPage, [
      ...[...kind, wanted.after, wanted.before, ...from, ...portion],
      ...[sorted?.field ?? '', String(values.length), ...values],
      ...wanted.fields,
    ])
    // A value with many facets is the only one of its answers.
    if (page.facets > FACETS_AT_ONCE) values = values.slice(0, 1)
    facets = page.facets
    value = page.value
    found = start === 0 ? [...page.found] : [...found, ...page.found]
  }
  if (found.length <= most) return { found, value }
  const position = ({ id, score }: Found) => ({ lastFailedAt: Number(score), id })
  found.sort((a, b) => compareLetters(position(a), position(b), byScore))
  return { found: found.slice(0, most), value }
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
    for await (const portion of foundByFacet(records, filter))
      for (const { facet, found } of portion)
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
    for await (const portion of foundByFacet(records, filter))
      for (const { found } of portion) for (const { score } of found) timeline.add(Number(score))
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

interface FoundInFacet {
  readonly facet: FacetFields
  readonly found: readonly Found[]
}

/** The letters that match, facet by facet, in portions between which the server can do other work. A portion has many facets. */
async function* foundByFacet(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
): AsyncGenerator<readonly FoundInFacet[]> {
  const { fields, after, before, search } = scanFilterOf(filter)
  const facets = await records.runAfterExpiry(readFacets, fields)
  for (let at = 0, place: Found | undefined; at < facets.length; ) {
    const from = [String(LETTERS_AT_ONCE), place?.score ?? '', place?.id ?? '']
    const some = facets.slice(at, at + FACETS_AT_ONCE).map(({ id }) => id)
    const args = [after, before, search, ...from, ...some]
    const { found, next } = await records.runIdempotent(readFacetLetters, args)
    const first = at
    yield found.map((letters, index) => ({ facet: facets[first + index]!, found: letters }))
    // The last facet of the answer goes on, or the next one begins.
    at += next === undefined ? found.length : found.length - 1
    place = next
  }
}

/** The versions of the letters that match, in portions. */
export async function* versionsOf(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
): AsyncGenerator<readonly SeenLetter[]> {
  for await (const portion of foundByFacet(records, filter)) {
    const versions = portion.flatMap(({ facet, found }) =>
      found.map(({ id, score }) => ({ id, state: facet.state, lastFailedAt: Number(score) })),
    )
    if (versions.length > 0) yield versions
  }
}
