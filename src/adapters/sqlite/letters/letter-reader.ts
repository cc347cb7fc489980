import type { DatabaseSync } from 'node:sqlite'
import { Timeline } from '../../../adapter-kit/query/letter-timeline.ts'
import type { LetterFilter, TimelineSpan } from '../../../ports/dead-letters.ts'
import type { FoundLetter, LetterQueryRow, StatsRow } from '../connection/calls.ts'
import { BlockSearch } from './block-search.ts'
import { FacetMerge } from './facet-merge.ts'
import { type FacetRow, type Found, facetsOf, type Span } from './letter-places.ts'
import { TimelineReader } from './timeline-reader.ts'

/** To find the place in a facet costs about as much as to look at so many letters one after the other. */
const LETTERS_PER_FACET = 4
/** Where a filter leaves one letter in so many, those that are left are gone through for a while first. */
const RARE = 4
/** So many of them at most: then the index is asked for the text. */
const GONE_THROUGH = 8_000

/** Pages and figures of letters. */
export class LetterReader {
  readonly #db: DatabaseSync
  readonly #merge: FacetMerge
  readonly #search: BlockSearch
  readonly #timeline: TimelineReader
  readonly #get
  readonly #body
  readonly #having
  readonly #count
  readonly #oldest
  readonly #newest

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#merge = new FacetMerge(db)
    this.#search = new BlockSearch(db)
    this.#timeline = new TimelineReader(db)
    this.#get = db.prepare('select revision, body from letters where id = ?')
    this.#body = db.prepare('select body from letters where seq = ?')
    this.#having = db.prepare('select 1 from letters where seq = ? and instr(search, ?) > 0')
    const range = 'from letters where facet = ? and at >= ? and at < ?'
    this.#count = db.prepare(`select count(*) as count ${range}`)
    this.#oldest = db.prepare(`select min(at) as at ${range}`)
    this.#newest = db.prepare(`select max(at) as at ${range}`)
  }

  get(id: string): FoundLetter | undefined {
    return this.#get.get(id) as FoundLetter | undefined
  }

  list({ filter, limit, behind }: LetterQueryRow): readonly string[] {
    const facets = facetsOf(this.#db, filter)
    const span = spanOf(filter, behind)
    const found = this.#find(facets, span, filter.search, limit + 1)
    return found.map(({ seq }) => (this.#body.get(seq) as { body: string }).body)
  }

  stats(filter: LetterFilter): StatsRow {
    const facets = facetsOf(this.#db, filter)
    const span = spanOf(filter, undefined)
    const figures = new Figures()
    if (filter.search === undefined) {
      for (const facet of facets) this.#addFacet(figures, facet, span)
    } else {
      const byId = new Map(facets.map(facet => [facet.id, facet]))
      const query = { text: filter.search, facets: new Set(byId.keys()), span }
      for (const { facet, lastFailedAt: at } of this.#search.every(query))
        figures.add(byId.get(facet)!, 1, at, at)
    }
    return figures.row()
  }

  timeline(filter: LetterFilter, span: TimelineSpan): readonly number[] {
    const facets = facetsOf(this.#db, filter)
    const within = spanOf(filter, undefined)
    if (filter.search === undefined) return this.#timeline.read(facets, within, span)
    const timeline = new Timeline(span)
    const query = { text: filter.search, facets: new Set(facets.map(({ id }) => id)), span: within }
    for (const { lastFailedAt } of this.#search.every(query)) timeline.add(lastFailedAt)
    return timeline.counts
  }

  /** Mostly all of its letters are of the times asked for, and then everything about it is known. */
  #addFacet(figures: Figures, facet: FacetRow, { after, before }: Span): void {
    const { id, count, oldest_at: oldestAt, last_at: lastAt } = facet
    if (oldestAt >= after && lastAt < before) {
      figures.add(facet, count, oldestAt, lastAt)
      return
    }
    const range = [id, after, before] as const
    const { at: oldest } = this.#oldest.get(...range) as { at: number | null }
    if (oldest === null) return
    const { at: newest } = this.#newest.get(...range) as { at: number }
    figures.add(facet, (this.#count.get(...range) as { count: number }).count, oldest, newest)
  }

  /**
   * There are two ways to a page: to merge the facets, each of which has its letters in order, or to go through all
   * letters by time. The one that has to look at less is taken.
   */
  #find(facets: readonly FacetRow[], span: Span, text: string | undefined, limit: number): readonly Found[] {
    if (text !== undefined) return this.#findText(facets, span, text, limit)
    if (facets.length <= limit) return this.#merge.first(facets, limit, span)
    const letters = this.#search.lettersIn(span)
    const lookedAt = Math.min(letters, (limit * letters) / Math.max(1, matching(facets)))
    if (facets.length * LETTERS_PER_FACET < lookedAt) return this.#merge.first(facets, limit, span)
    return this.#search.first({ text, facets: new Set(facets.map(({ id }) => id)), span }, limit)
  }

  /** A text that many letters have leads the index to nearly all of them, whatever else is asked for. */
  #findText(facets: readonly FacetRow[], span: Span, text: string, limit: number): readonly Found[] {
    const count = matching(facets)
    if (count <= GONE_THROUGH || count * RARE <= this.#search.lettersIn(span)) {
      const found: Found[] = []
      let left = GONE_THROUGH
      for (const letter of this.#merge.letters(facets, span)) {
        if (this.#having.get(letter.seq, text) !== undefined) found.push(letter)
        if (found.length === limit) return found
        if (--left === 0) break
      }
      if (count <= GONE_THROUGH) return found
    }
    return this.#search.first({ text, facets: new Set(facets.map(({ id }) => id)), span }, limit)
  }
}

function matching(facets: readonly FacetRow[]): number {
  return facets.reduce((sum, { count }) => sum + count, 0)
}

/** Adds up what is known of facets. */
class Figures {
  #count = 0
  #oldestAt: number | undefined
  #newestAt: number | undefined
  readonly #byState = new Map<string, number>()
  readonly #byReason = new Map<string, number>()
  readonly #byChannel = new Map<string, number>()

  add({ state, reason, channel }: FacetRow, count: number, oldestAt: number, newestAt: number): void {
    this.#count += count
    this.#oldestAt = Math.min(this.#oldestAt ?? oldestAt, oldestAt)
    this.#newestAt = Math.max(this.#newestAt ?? newestAt, newestAt)
    increase(this.#byState, state, count)
    increase(this.#byReason, reason, count)
    increase(this.#byChannel, channel, count)
  }

  row(): StatsRow {
    return {
      count: this.#count,
      oldestAt: this.#oldestAt,
      newestAt: this.#newestAt,
      byState: [...this.#byState],
      byReason: [...this.#byReason],
      byChannel: [...this.#byChannel],
    }
  }
}

function increase(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count)
}

function spanOf({ after, before }: LetterFilter, behind: Span['behind']): Span {
  return { behind, after: after ?? Number.NEGATIVE_INFINITY, before: before ?? Number.POSITIVE_INFINITY }
}
