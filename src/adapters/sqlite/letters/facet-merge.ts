import type { DatabaseSync } from 'node:sqlite'
import type { LetterPlace } from '../../../adapter-kit/query/letter-query.ts'
import { Heap } from '../../../core/heap.ts'
import { all } from '../connection/rows.ts'
import { comparePlaces, type FacetRow, type Found, type Span } from './letter-places.ts'

const READ_AT_ONCE = 16
/** Greater than every id, so that a facet nobody has looked into counts as having the best of its time. */
const ANY_ID = '\u{10ffff}'

/** A facet's letters in the order of the list, read a few at a time. */
interface Run {
  readonly facet: number
  /** The first that was not taken yet; before the first read, the best it can be. */
  next: LetterPlace
  rows: readonly Found[]
  taken: number
}

/**
 * The first letters of several facets. Each facet has its letters in order, so it is a merge, and it looks only into
 * those that can have the next one.
 */
export class FacetMerge {
  readonly #read

  constructor(db: DatabaseSync) {
    this.#read = db.prepare(
      `select seq, id, at as lastFailedAt, facet from letters indexed by letters_by_facet
       where facet = ? and (at, id) < (?, ?) and at >= ? order by at desc, id desc limit ?`,
    )
  }

  first(facets: readonly FacetRow[], limit: number, span: Span): readonly Found[] {
    const found: Found[] = []
    for (const letter of this.letters(facets, span)) if (found.push(letter) === limit) break
    return found
  }

  /** All of them in the order of the list, read as they are asked for. */
  *letters(facets: readonly FacetRow[], span: Span): Iterable<Found> {
    const heap = new Heap<Run>((a, b) => comparePlaces(a.next, b.next) < 0)
    for (const { id: facet, last_at: lastFailedAt } of facets)
      heap.push({ facet, next: { lastFailedAt, id: ANY_ID }, rows: [], taken: 0 })
    for (let run = heap.shift(); run !== undefined; run = heap.shift()) {
      const current = run.rows[run.taken]
      if (current !== undefined) {
        yield current
        run.taken++
      }
      if (run.taken === run.rows.length) this.#readOn(run, current ?? startOf(span), span.after)
      const next = run.rows[run.taken]
      if (next === undefined) continue
      run.next = next
      heap.push(run)
    }
  }

  #readOn(run: Run, { lastFailedAt, id }: LetterPlace, after: number): void {
    run.rows = all<Found>(this.#read, run.facet, lastFailedAt, id, after, READ_AT_ONCE)
    run.taken = 0
  }
}

/** Everything that may be shown comes behind this. */
function startOf({ behind, before }: Span): LetterPlace {
  const end = { lastFailedAt: before, id: '' }
  return behind === undefined || comparePlaces(behind, end) < 0 ? end : behind
}
