import { compareLetters, type LetterPosition } from '../../../adapter-kit/query/letter-query.ts'
import { Heap } from '../../../core/heap.ts'
import type { Database } from '../connection/database.ts'
import type { CountedFacet, FoundRow, Span } from './letter-spans.ts'

const READ_AT_ONCE = 16
/** Greater than every id, so that an unread facet counts as having the best letter of its time. */
const ANY_ID = '\u{10ffff}'

/** A facet's letters in the order of the list, read a few at a time. */
interface Run {
  readonly facet: number
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
  const heap = new Heap<Run>((a, b) => compareLetters(a.next, b.next) < 0)
  for (const { id: facet, last_at: lastFailedAt } of facets)
    heap.push({ facet, next: { lastFailedAt, id: ANY_ID }, rows: [], taken: 0 })
  let left = limit
  for (let run = heap.shift(); run !== undefined; run = heap.shift()) {
    const current = run.rows[run.taken]
    if (current !== undefined) {
      yield current
      if (--left === 0) return
      run.taken++
    }
    if (run.taken === run.rows.length) {
      const { lastFailedAt, id } = current ?? startOf(span)
      run.rows = db.all<FoundRow>`
        select seq, id, at as lastFailedAt, facet from letters indexed by letters_by_facet
        where facet = ${run.facet} and (at, id) < (${lastFailedAt}, ${id}) and at >= ${span.after}
        order by at desc, id desc limit ${READ_AT_ONCE}`
      run.taken = 0
    }
    const next = run.rows[run.taken]
    if (next === undefined) continue
    run.next = next
    heap.push(run)
  }
}

/** Every letter of the page comes after this position. */
function startOf({ behind, before }: Span): LetterPosition {
  const end = { lastFailedAt: before, id: '' }
  return behind === undefined || compareLetters(behind, end) < 0 ? end : behind
}
