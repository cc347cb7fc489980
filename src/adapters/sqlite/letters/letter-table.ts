import type { LetterVersion } from '../../../ports/dead-letters.ts'
import type { Counters } from '../connection/counters.ts'
import type { Database } from '../connection/database.ts'
import type { Facet, Facets } from './facets.ts'
import { SEGMENT_SIZE, segmentOf } from './search-index.ts'
import type { SearchWriter } from './search-writer.ts'

/** A letter as it is stored. A tuple, because the names of fields would be copied with every one of them. */
export type LetterRow = readonly [
  id: string,
  /** The JSON of the fields for filters and orders (FacetFields). */
  facet: string,
  lastFailedAt: number,
  firstFailedAt: number,
  /** 1 when it was sent again, else 0. */
  wasReplayed: number,
  search: string,
  body: string,
  /** The JSON of the group, or null if this thread already has the group. */
  group: string | null,
]

/** A letter as it was found, with the revision that a change of it must name. */
export interface FoundLetter {
  readonly revision: number
  readonly body: string
}

/**
 * `undefined`: the letter is stored. `group`: its group is new here; send it again with the group. `gone`: it was deleted
 * meanwhile. A letter: another version is stored; merge with it and send again.
 */
export type SendAnswer = undefined | 'full' | 'group' | 'gone' | FoundLetter

interface StoredLetter extends FoundLetter {
  readonly seq: number
  readonly facet: number
  readonly at: number
  readonly first_at: number
  readonly replayed: number
  readonly search: string
}

/**
 * Inserts, changes and deletes letters. The caller decodes their content; this table keeps them searchable and counted.
 */
export class LetterTable {
  readonly #db: Database
  readonly #counters: Counters
  readonly #facets: Facets
  readonly #search: SearchWriter

  constructor(db: Database, counters: Counters, facets: Facets, search: SearchWriter) {
    this.#db = db
    this.#counters = counters
    this.#facets = facets
    this.#search = search
  }

  /** Without a revision the letter must be new. With one, it replaces the letter that has this revision. */
  send(row: LetterRow, revision: number | null, capacity: number): SendAnswer {
    const [id, key, , , , , , group] = row
    const facet = this.#facets.of(key, group)
    if (facet === undefined) return 'group'
    if (revision !== null) return this.#replace(row, facet, revision)
    if (
      capacity < Number.MAX_SAFE_INTEGER &&
      this.#facets.total() >= capacity &&
      this.#find(id) === undefined
    )
      return 'full'
    return this.#add(row, facet, 0) ? undefined : this.#find(id)
  }

  delete(id: string, seen: LetterVersion | undefined): boolean {
    const stored = this.#find(id)
    if (stored === undefined || (seen !== undefined && !this.#isAsSeen(stored, seen))) return false
    this.#remove(stored)
    const segment = segmentOf(stored.seq)
    const first = segment * SEGMENT_SIZE
    const neighbour = this.#db.get`select 1 from letters
      where seq >= ${first} and seq < ${first + SEGMENT_SIZE} limit 1`
    if (neighbour === undefined) this.#db.run`delete from shelves where shelf = ${segment}`
    return true
  }

  #find(id: string): StoredLetter | undefined {
    return this.#db.get`select * from letters where id = ${id}`
  }

  #isAsSeen({ at, facet }: StoredLetter, seen: LetterVersion): boolean {
    return at === seen.lastFailedAt && this.#facets.byId(facet).state === seen.state
  }

  #add(row: LetterRow, facet: Facet, revision: number): boolean {
    const [id, , at, firstAt, replayed, search, body] = row
    const seq = this.#counters.last('letter') + 1
    const added = this.#db
      .run`insert into letters(seq, id, facet, at, first_at, replayed, revision, search, body)
      values(${seq}, ${id}, ${facet.id}, ${at}, ${firstAt}, ${replayed}, ${revision}, ${search}, ${body})
      on conflict(id) do nothing`
    if (added === 0) return false
    this.#counters.next('letter')
    this.#search.add(seq, at, search)
    this.#facets.add(facet, at, firstAt, replayed)
    return true
  }

  #replace(row: LetterRow, facet: Facet, revision: number): SendAnswer {
    const [id, , at, firstAt, replayed, search, body] = row
    const stored = this.#find(id)
    if (stored === undefined) return 'gone'
    if (stored.revision !== revision) return stored
    if (stored.at !== at || stored.search !== search) {
      // A letter that failed again gets the newest seq: the search index is ordered by seq and by time.
      this.#remove(stored)
      this.#add(row, facet, revision + 1)
      return undefined
    }
    this.#facets.remove(this.#facets.byId(stored.facet), stored.at, stored.replayed)
    this.#facets.add(facet, at, firstAt, replayed)
    this.#db.run`update letters set facet = ${facet.id}, first_at = ${firstAt}, replayed = ${replayed},
      revision = ${revision + 1}, body = ${body} where seq = ${stored.seq}`
    return undefined
  }

  #remove({ seq, facet, at, replayed }: StoredLetter): void {
    this.#db.run`delete from letters where seq = ${seq}`
    this.#facets.remove(this.#facets.byId(facet), at, replayed)
  }
}
