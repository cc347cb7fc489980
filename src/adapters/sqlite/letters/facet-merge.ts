import {
  compareLetters,
  compareValues,
  type LetterPosition,
} from '../../../adapter-kit/query/letter-order.ts'
import { Heap } from '../../../core/heap.ts'
import type { Database } from '../connection/database.ts'
import type { CountedFacet, FoundRow, Span } from './letter-spans.ts'

/** The rows that are first read of a facet, and then. Most facets have one or two letters on a page. */
const READ_FIRST = 2
const READ_AT_ONCE = 16
/** Greater than every id, so that an unread facet counts as having the best letter of its time. */
const ANY_ID = '\u{10ffff}'

/** A facet's letters in the order of the list, read a few at a time. */
interface Run {
  readonly facet: CountedFacet
  /** The first that was not taken yet; before the first read, the best it can be. */
  next: LetterPosition
  rows: readonly FoundRow[]
  taken: number
}

/**
 * The first letters of several facets in the order of the list, read as they are asked for. Each facet has its letters in
 * order, so it is a merge, and it looks only into those that can have the next one.
 */
export function* mergeFacets(
  db: Database,
  facets: readonly CountedFacet[],
  span: Span,
  limit: number,
): Generator<FoundRow> {
  const { order } = span
  const heap = new Heap<Run>((a, b) => compareLetters(a.next, b.next, order) < 0)
  for (const facet of facets)
    if (!isPassed(facet, span)) heap.push({ facet, next: bestOf(facet, span), rows: [], taken: 0 })
  let left = limit
  for (let run = heap.shift(); run !== undefined; run = heap.shift()) {
    const current = run.rows[run.taken]
    if (current !== undefined) {
      yield current
      if (--left === 0) return
      run.taken++
    }
    if (run.taken === run.rows.length) {
      run.rows = readRun(db, run.facet, span, current)
      run.taken = 0
    }
    const next = run.rows[run.taken]
    if (next === undefined) continue
    run.next = next
    heap.push(run)
  }
}

/** Whether the previous page ended behind all letters of the facet, because it ended with a later value. */
function isPassed({ value }: CountedFacet, { order, behind }: Span): boolean {
  if (value === null || behind?.value === undefined) return false
  const byValue = compareValues(value, behind.value)
  return order.isDescending ? byValue > 0 : byValue < 0
}

/** The first place that a letter of the facet can have. The facet does not count first failures. */
function bestOf(
  { value, oldest_at: oldest, last_at: latest }: CountedFacet,
  { order }: Span,
): LetterPosition {
  const { sort, isDescending } = order
  if (value !== null) return { value, lastFailedAt: latest, id: ANY_ID }
  if (sort === 'lastFailed')
    return isDescending ? { lastFailedAt: latest, id: ANY_ID } : { lastFailedAt: oldest, id: '' }
  return {
    lastFailedAt: 0,
    id: '',
    value: isDescending ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY,
  }
}

/** The next letters of a facet: after the last one that was taken, or from the beginning of the page. */
function readRun(
  db: Database,
  facet: CountedFacet,
  span: Span,
  last: FoundRow | undefined,
): readonly FoundRow[] {
  const { id, value } = facet
  const { order, after, before } = span
  const count = last === undefined ? READ_FIRST : READ_AT_ONCE
  if (order.sort === 'firstFailed') {
    const { value: from, id: afterId } = last ?? span.behind ?? noPlace(order.isDescending)
    return order.isDescending
      ? db.all<FoundRow>`
          select seq, id, at as lastFailedAt, first_at as firstFailedAt, first_at as value, facet
          from letters indexed by letters_by_first
          where facet = ${id} and (first_at, id) < (${from!}, ${afterId}) and at >= ${after} and at < ${before}
          order by first_at desc, id desc limit ${count}`
      : db.all<FoundRow>`
          select seq, id, at as lastFailedAt, first_at as firstFailedAt, first_at as value, facet
          from letters indexed by letters_by_first
          where facet = ${id} and (first_at, id) > (${from!}, ${afterId}) and at >= ${after} and at < ${before}
          order by first_at, id limit ${count}`
  }
  const isPlain = order.sort === 'lastFailed'
  if (isPlain && !order.isDescending) {
    const from = last ?? laterOf(span.behind, { lastFailedAt: after, id: '' }, span)
    return db.all<FoundRow>`
      select seq, id, at as lastFailedAt, first_at as firstFailedAt, facet from letters indexed by letters_by_facet
      where facet = ${id} and (at, id) > (${from.lastFailedAt}, ${from.id}) and at < ${before}
      order by at, id limit ${count}`
  }
  // Letters of the value that the previous page ended with go on behind it, those of other values begin with the newest.
  const behind = isPlain || value === span.behind?.value ? span.behind : undefined
  const from = last ?? laterOf(behind, { lastFailedAt: before, id: '' }, span)
  const rows = db.all<FoundRow>`
    select seq, id, at as lastFailedAt, first_at as firstFailedAt, facet from letters indexed by letters_by_facet
    where facet = ${id} and (at, id) < (${from.lastFailedAt}, ${from.id}) and at >= ${after}
    order by at desc, id desc limit ${count}`
  return value === null ? rows : rows.map(row => ({ ...row, value }))
}

/** Every letter of the page comes after both places. */
function laterOf(behind: LetterPosition | undefined, end: LetterPosition, { order }: Span): LetterPosition {
  if (behind === undefined) return end
  const { lastFailedAt, id } = behind
  const isAscending = order.sort === 'lastFailed' && !order.isDescending
  const byTime = { sort: 'lastFailed', isDescending: !isAscending } as const
  return compareLetters({ lastFailedAt, id }, end, byTime) < 0 ? end : behind
}

function noPlace(isDescending: boolean): LetterPosition {
  const value = isDescending ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
  return { lastFailedAt: 0, id: '', value }
}

/** The first letters of some days by their first failure. It reads all letters of these days. */
export function sortByFirst(
  db: Database,
  facets: readonly CountedFacet[],
  { order: { isDescending }, behind, after, before }: Span,
  limit: number,
): readonly FoundRow[] {
  const { value: from, id } = behind ?? noPlace(isDescending)
  const ids = JSON.stringify(facets.map(facet => facet.id))
  return isDescending
    ? db.all<FoundRow>`
        select l.seq, l.id, l.at as lastFailedAt, l.first_at as firstFailedAt, l.first_at as value, l.facet
        from json_each(${ids}) f cross join letters l indexed by letters_by_facet
        where l.facet = f.value and l.at >= ${after} and l.at < ${before} and (l.first_at, l.id) < (${from!}, ${id})
        order by l.first_at desc, l.id desc limit ${limit}`
    : db.all<FoundRow>`
        select l.seq, l.id, l.at as lastFailedAt, l.first_at as firstFailedAt, l.first_at as value, l.facet
        from json_each(${ids}) f cross join letters l indexed by letters_by_facet
        where l.facet = f.value and l.at >= ${after} and l.at < ${before} and (l.first_at, l.id) > (${from!}, ${id})
        order by l.first_at, l.id limit ${limit}`
}

/** The letters beside a page by first failure. Those that match are the page, if there are enough of them. */
export function nearByFirst(
  db: Database,
  { order: { isDescending }, behind }: Span,
  count: number,
): readonly FoundRow[] {
  const { value: from, id } = behind ?? noPlace(isDescending)
  return isDescending
    ? db.all<FoundRow>`
        select seq, id, at as lastFailedAt, first_at as firstFailedAt, first_at as value, facet
        from letters indexed by letters_by_first_failure
        where (first_at, id) < (${from!}, ${id}) order by first_at desc, id desc limit ${count}`
    : db.all<FoundRow>`
        select seq, id, at as lastFailedAt, first_at as firstFailedAt, first_at as value, facet
        from letters indexed by letters_by_first_failure
        where (first_at, id) > (${from!}, ${id}) order by first_at, id limit ${count}`
}
