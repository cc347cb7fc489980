import { compareLetters } from '../../../adapter-kit/query/letter-order.ts'
import type { Database } from '../connection/database.ts'
import { type FoundRow, isWithin, type Span } from './letter-spans.ts'
import {
  BLOCK_SIZE,
  BLOCKS_PER_SEGMENT,
  blocksWith,
  gramsOf,
  SEGMENT_SIZE,
  type SegmentIndex,
  unpackGrams,
} from './search-index.ts'

/** The most segments in memory, about 30 MB. Others are read for every search. */
const MAX_CACHED = 1_000
const ALL_BLOCKS = -1

export interface SearchQuery {
  /** Lower-cased; undefined when any text will do. */
  readonly text: string | undefined
  readonly facets: ReadonlySet<number>
  readonly span: Span
}

/** A run of letters by seq, and the earliest and latest times that one of them failed at. */
interface Run {
  readonly from: number
  readonly to: number
  readonly earliest: number
  readonly latest: number
}

interface Segment extends Run {
  readonly number: number
}

/**
 * Looks through letters block by block, by time, with the search index (search-index). It is how texts are found, and
 * what no single index of the database can answer.
 */
export class SearchReader {
  readonly #db: Database
  /** A segment is written once, and its number is not used again. */
  readonly #kept = new Map<number, SegmentIndex>()

  constructor(db: Database) {
    this.#db = db
  }

  /** About how many letters there are of these times. */
  lettersIn(span: Span): number {
    return this.#segments(span).length * SEGMENT_SIZE
  }

  /**
   * The first letters of a list by last failure that match. Segments and the blocks in them are read latest first, or earliest first in
   * an ascending list, until none is left whose first letter could still be among them.
   */
  first(query: SearchQuery, limit: number): readonly FoundRow[] {
    const { order } = query.span
    const inOrder = (a: FoundRow, b: FoundRow) => compareLetters(a, b, order)
    let found = this.#read(this.#tail, query).sort(inOrder).slice(0, limit)
    const cannotHelp = ({ latest, earliest }: Run) => {
      const last = found[limit - 1]
      if (last === undefined) return false
      return order.isDescending ? latest < last.lastFailedAt : earliest > last.lastFailedAt
    }
    const hashes = gramsOf(query.text ?? '')
    for (const segment of this.#segments(query.span)) {
      if (cannotHelp(segment)) break
      for (const block of this.#blocks(segment, query.span, hashes)) {
        if (cannotHelp(block)) break
        const here = this.#read(block, query)
        if (here.length > 0) found = found.concat(here).sort(inOrder).slice(0, limit)
      }
    }
    return found
  }

  /** Every matching letter, in no order. */
  *every(query: SearchQuery): Iterable<FoundRow> {
    const hashes = gramsOf(query.text ?? '')
    yield* this.#read(this.#tail, query)
    for (const segment of this.#segments(query.span))
      for (const block of this.#blocks(segment, query.span, hashes)) yield* this.#read(block, query)
  }

  #read({ from, to }: Run, { text, facets, span }: SearchQuery): FoundRow[] {
    const rows =
      text === undefined
        ? this.#db
            .all<FoundRow>`select seq, id, at as lastFailedAt, first_at as firstFailedAt, facet from letters
            where seq >= ${from} and seq < ${to}`
        : this.#db
            .all<FoundRow>`select seq, id, at as lastFailedAt, first_at as firstFailedAt, facet from letters
            where seq >= ${from} and seq < ${to} and instr(search, ${text}) > 0`
    return rows.filter(found => facets.has(found.facet) && isWithin(found, span))
  }

  /** Letters after the last segment are not in the index yet: less than a segment. */
  get #tail(): Run {
    const { last } = this.#db.get<{ last: number }>`select coalesce(max(shelf), -1) as last from shelves`!
    return {
      from: (last + 1) * SEGMENT_SIZE,
      to: Number.MAX_SAFE_INTEGER,
      earliest: Number.NEGATIVE_INFINITY,
      latest: Number.POSITIVE_INFINITY,
    }
  }

  /** The segments that may have letters of these times, in the order of the list. */
  #segments(span: Span): readonly Segment[] {
    const { from, to } = boundsOf(span)
    const segments = this.#db.all<Segment>`
      select shelf as number, shelf * ${SEGMENT_SIZE} as "from", (shelf + 1) * ${SEGMENT_SIZE} as "to", earliest, latest
      from shelves where latest >= ${span.after} and earliest < ${span.before}
      and earliest <= ${to} and latest >= ${from} order by latest desc`
    return isAscending(span) ? segments.sort((a, b) => a.earliest - b.earliest) : segments
  }

  /** The blocks of a segment with letters of these times that may have all of the grams, in the order of the list. */
  #blocks({ number, from }: Segment, span: Span, hashes: readonly number[]): readonly Run[] {
    const mask = this.#maskOf(number, hashes)
    if (mask === 0) return []
    const { spans } = this.#db.get<{ spans: Uint8Array }>`select spans from shelves where shelf = ${number}`!
    const times = new Float64Array(spans.slice().buffer)
    const blocks: Run[] = []
    for (let block = 0; block < BLOCKS_PER_SEGMENT; block++) {
      if ((mask & (1 << block)) === 0 || !overlaps(times, block, span)) continue
      const first = from + block * BLOCK_SIZE
      const [earliest, latest] = [times[block * 2]!, times[block * 2 + 1]!]
      blocks.push({ from: first, to: first + BLOCK_SIZE, earliest, latest })
    }
    return blocks.sort((a, b) => (isAscending(span) ? a.earliest - b.earliest : b.latest - a.latest))
  }

  #maskOf(segment: number, hashes: readonly number[]): number {
    if (hashes.length === 0) return ALL_BLOCKS
    const index = this.#index(segment)
    let mask = ALL_BLOCKS
    for (const hash of hashes) {
      mask &= blocksWith(index, hash)
      if (mask === 0) break
    }
    return mask
  }

  #index(segment: number): SegmentIndex {
    const kept = this.#kept.get(segment)
    if (kept !== undefined) return kept
    const { grams } = this.#db.get<{ grams: Uint8Array }>`select grams from shelves where shelf = ${segment}`!
    const index = unpackGrams(grams)
    if (this.#kept.size < MAX_CACHED) this.#kept.set(segment, index)
    return index
  }
}

function overlaps(times: Float64Array, block: number, span: Span): boolean {
  const earliest = times[block * 2]!
  const latest = times[block * 2 + 1]!
  const { from, to } = boundsOf(span)
  return latest >= span.after && earliest < span.before && earliest <= to && latest >= from
}

/** The times that are behind the previous page. */
function boundsOf({ order, behind }: Span): { readonly from: number; readonly to: number } {
  const at = order.sort === 'lastFailed' ? behind?.lastFailedAt : undefined
  if (at === undefined) return { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
  return order.isDescending
    ? { from: Number.NEGATIVE_INFINITY, to: at }
    : { from: at, to: Number.POSITIVE_INFINITY }
}

function isAscending({ order }: Span): boolean {
  return order.sort === 'lastFailed' && !order.isDescending
}
