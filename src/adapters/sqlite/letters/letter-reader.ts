import {
  compareLetters,
  type LetterOrder,
  type LetterPosition,
  NEWEST_FIRST,
} from '../../../adapter-kit/query/letter-order.ts'
import { HandlerCounter, LetterStatsCounter } from '../../../adapter-kit/query/letter-stats.ts'
import { Timeline } from '../../../adapter-kit/query/letter-timeline.ts'
import type { HandlerCount, LetterFilter, LetterStats, TimelineSpan } from '../../../ports/dead-letters.ts'
import type { Database } from '../connection/database.ts'
import { mergeFacets, nearByFirst, sortByFirst } from './facet-merge.ts'
import { type CountedFacet, type FoundRow, facetsOf, isWithin, type Span } from './letter-spans.ts'
import type { FoundLetter } from './letter-table.ts'
import { readVersions, type VersionPlace, type VersionPortion } from './letter-versions.ts'
import { type SearchQuery, SearchReader } from './search-reader.ts'

/** Finding the position in a facet costs about as much as reading this many letters in sequence. */
const LETTERS_PER_FACET = 4
/** If a filter matches fewer than one letter in this many, the matching ones are first read in sequence. */
const RARE_SHARE = 4
/** The most letters to read that way. After that the search index is used. */
const MAX_SCANNED = 8_000
/** A page by first failure is first looked for among so many pages of letters. */
const NEAR_PAGES = 5
/** Up to this many letters of some days are sorted by their first failure. More of them are found by their index. */
const MAX_SORTED = 100_000

/** Adds up letters of a facet. */
interface FacetFigures {
  add(facet: CountedFacet, count: number, oldestAt: number, newestAt?: number): void
}

/** Pages and figures of letters, for the reading thread. */
export class LetterReader {
  readonly #db: Database
  readonly #search: SearchReader

  constructor(db: Database) {
    this.#db = db
    this.#search = new SearchReader(db)
  }

  get(id: string): FoundLetter | undefined {
    return this.#db.get`select revision, body from letters where id = ${id}`
  }

  /** Returns one more letter than the limit if there is a next page. */
  list(
    filter: LetterFilter,
    limit: number,
    order: LetterOrder,
    behind: LetterPosition | undefined,
  ): readonly string[] {
    const facets = facetsOf(this.#db, filter, order.sort)
    const found = this.#find(facets, spanOf(filter, order, behind), filter.search, limit + 1)
    return found.map(
      ({ seq }) => this.#db.get<{ body: string }>`select body from letters where seq = ${seq}`!.body,
    )
  }

  /** The versions of some letters from a place on. A search reads all of its letters at once. */
  versions(filter: LetterFilter, place: VersionPlace): VersionPortion {
    const facets = facetsOf(this.#db, filter)
    if (filter.search === undefined) return readVersions(this.#db, facets, spanOf(filter), place)
    const stateOf = new Map(facets.map(({ id, state }) => [id, state]))
    const letters = this.#search.every(searchOf(facets, spanOf(filter), filter.search))
    const found = Array.from(letters, ({ id, lastFailedAt, facet }) => ({
      id,
      state: stateOf.get(facet)!,
      lastFailedAt,
    }))
    return { found, next: undefined }
  }

  stats(filter: LetterFilter): LetterStats {
    const figures = new LetterStatsCounter()
    this.#addUp(filter, figures)
    return figures.stats
  }

  countByHandler(filter: LetterFilter): readonly HandlerCount[] {
    const counter = new HandlerCounter()
    this.#addUp(filter, { add: ({ channel, handler }, count) => counter.add(channel, handler, count) })
    return counter.counts
  }

  #addUp(filter: LetterFilter, figures: FacetFigures): void {
    const facets = facetsOf(this.#db, filter)
    const span = spanOf(filter)
    if (filter.search === undefined) {
      for (const facet of facets) this.#addFacet(figures, facet, span)
    } else {
      const byId = new Map(facets.map(facet => [facet.id, facet]))
      for (const { facet, lastFailedAt } of this.#search.every(searchOf(facets, span, filter.search)))
        figures.add(byId.get(facet)!, 1, lastFailedAt)
    }
  }

  /** Letters by time. Without a search they are counted on the index alone. */
  timeline(filter: LetterFilter, buckets: TimelineSpan): readonly number[] {
    const facets = facetsOf(this.#db, filter)
    const span = spanOf(filter)
    const timeline = new Timeline(buckets)
    if (filter.search !== undefined) {
      const found = this.#search.every(searchOf(facets, span, filter.search))
      for (const { lastFailedAt } of found) timeline.add(lastFailedAt)
      return timeline.counts
    }
    const { from, bucketMs } = buckets
    const bucketOf = (at: number) => Math.floor((at - from) / bucketMs)
    const spread: number[] = []
    for (const { id, count, oldest_at: oldest, last_at: latest } of facets) {
      if (latest < span.after || oldest >= span.before) continue
      // A facet that lies in one bucket whole is counted already.
      const isInOne = oldest >= span.after && latest < span.before && bucketOf(oldest) === bucketOf(latest)
      if (isInOne) timeline.counts[bucketOf(oldest)]! += count
      else spread.push(id)
    }
    const rows = this.#db.all<{ bucket: number; count: number }>`
      select cast((l.at - ${from}) / ${bucketMs} as integer) as bucket, count(*) as count
      from json_each(${JSON.stringify(spread)}) f cross join letters l indexed by letters_by_facet
      where l.facet = f.value and l.at >= ${span.after} and l.at < ${span.before} group by bucket`
    for (const { bucket, count } of rows) timeline.counts[bucket]! += count
    return timeline.counts
  }

  /** Mostly all letters of a facet are within the requested time. Then its counts are enough. */
  #addFacet(figures: FacetFigures, facet: CountedFacet, { after, before }: Span): void {
    const { id, count, oldest_at: oldestAt, last_at: lastAt } = facet
    if (oldestAt >= after && lastAt < before) {
      figures.add(facet, count, oldestAt, lastAt)
      return
    }
    // Each end has its own query, because only then the index answers it without reading the rest.
    const oldest = this.#db.get<{ at: number | null }>`select min(at) as at from letters
      where facet = ${id} and at >= ${after} and at < ${before}`!.at
    if (oldest === null) return
    const newest = this.#db.get<{ at: number }>`select max(at) as at from letters
      where facet = ${id} and at >= ${after} and at < ${before}`!.at
    const within = this.#db.get<{ count: number }>`select count(*) as count from letters
      where facet = ${id} and at >= ${after} and at < ${before}`!
    figures.add(facet, within.count, oldest, newest)
  }

  /**
   * Finds a page in one of several ways: by merging the facets, which have their letters in order, or, where that reads more, by reading
   * all letters by time.
   */
  #find(
    facets: readonly CountedFacet[],
    span: Span,
    text: string | undefined,
    limit: number,
  ): readonly FoundRow[] {
    if (text !== undefined) return this.#findText(facets, span, text, limit)
    if (span.order.sort === 'lastFailed' && facets.length > limit) {
      const letters = this.#search.lettersIn(span)
      const lookedAt = Math.min(letters, (limit * letters) / Math.max(1, matching(facets)))
      if (facets.length * LETTERS_PER_FACET >= lookedAt)
        return this.#search.first(searchOf(facets, span, text), limit)
    }
    if (span.order.sort === 'firstFailed' && facets.length > limit) {
      const near = this.#nearByFirst(facets, span, limit)
      if (near !== undefined) return near
    }
    if (span.order.sort === 'firstFailed' && isBounded(span) && this.#search.lettersIn(span) <= MAX_SORTED)
      return sortByFirst(this.#db, facets, span, limit)
    return [...mergeFacets(this.#db, facets, span, limit)]
  }

  /** The page, if enough of the next letters by first failure match. */
  #nearByFirst(facets: readonly CountedFacet[], span: Span, limit: number): readonly FoundRow[] | undefined {
    const count = limit * NEAR_PAGES
    const near = nearByFirst(this.#db, span, count)
    const wanted = new Set(facets.map(({ id }) => id))
    const found = near.filter(row => wanted.has(row.facet) && isWithin(row, span)).slice(0, limit)
    return found.length === limit || near.length < count ? found : undefined
  }

  /** A text that many letters have leads the index to nearly all of them, whatever else is asked for. */
  #findText(facets: readonly CountedFacet[], span: Span, text: string, limit: number): readonly FoundRow[] {
    const count = matching(facets)
    const isFew = count <= MAX_SCANNED
    if (!isUsual(span) || isFew || count * RARE_SHARE <= this.#search.lettersIn(span)) {
      const found: FoundRow[] = []
      for (const letter of mergeFacets(this.#db, facets, span, MAX_SCANNED)) {
        const { seq } = letter
        if (
          this.#db.get`select 1 from letters where seq = ${seq} and instr(search, ${text}) > 0` !== undefined
        )
          found.push(letter)
        if (found.length === limit) return found
      }
      if (isFew) return found
    }
    const search = searchOf(facets, span, text)
    return isUsual(span) ? this.#search.first(search, limit) : this.#sortFound(facets, search, limit)
  }

  /** The search index has letters by time, so for every other order all that it finds are sorted. */
  #sortFound(facets: readonly CountedFacet[], search: SearchQuery, limit: number): readonly FoundRow[] {
    const { order } = search.span
    const values = new Map(facets.map(({ id, value }) => [id, value]))
    const sortValue = ({ facet, firstFailedAt }: FoundRow) =>
      order.sort === 'firstFailed' ? firstFailedAt : (values.get(facet) ?? undefined)
    const found = Array.from(
      this.#search.every({ ...search, span: { ...search.span, behind: undefined } }),
      row => ({
        ...row,
        value: sortValue(row),
      }),
    )
    return found
      .filter(row => isWithin(row, search.span))
      .sort((a, b) => compareLetters(a, b, order))
      .slice(0, limit)
  }
}

function isUsual({ order }: Span): boolean {
  return order.sort === NEWEST_FIRST.sort && order.isDescending
}

function isBounded({ after, before }: Span): boolean {
  return after !== Number.NEGATIVE_INFINITY || before !== Number.POSITIVE_INFINITY
}

function matching(facets: readonly CountedFacet[]): number {
  return facets.reduce((sum, { count }) => sum + count, 0)
}

function searchOf(facets: readonly CountedFacet[], span: Span, text: string | undefined): SearchQuery {
  return { text, facets: new Set(facets.map(({ id }) => id)), span }
}

function spanOf(
  { after, before }: LetterFilter,
  order: LetterOrder = NEWEST_FIRST,
  behind?: LetterPosition,
): Span {
  return {
    order,
    behind,
    after: after ?? Number.NEGATIVE_INFINITY,
    before: before ?? Number.POSITIVE_INFINITY,
  }
}
