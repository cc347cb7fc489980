import type { DatabaseSync } from 'node:sqlite'
import type { LetterSeen } from '../../../ports/dead-letters.ts'
import type { FoundLetter, LetterRow, SendAnswer } from '../connection/calls.ts'
import type { Counters } from '../connection/counters.ts'
import type { Facet, Facets } from './facets.ts'
import { SHELF_SIZE, shelfOf } from './search-index.ts'
import type { Shelves } from './search-writer.ts'

interface StoredLetter extends FoundLetter {
  readonly seq: number
  readonly facet: number
  readonly at: number
  readonly first_at: number
  readonly replayed: number
  readonly search: string
}

/** Letters come, change and go here. What they say is read by whoever sends them; this keeps them found and counted. */
export class Letters {
  readonly #counters: Counters
  readonly #facets: Facets
  readonly #shelves: Shelves
  readonly #insert
  readonly #find
  readonly #update
  readonly #delete
  readonly #neighbour
  readonly #deleteShelf

  constructor(db: DatabaseSync, counters: Counters, facets: Facets, shelves: Shelves) {
    this.#counters = counters
    this.#facets = facets
    this.#shelves = shelves
    this.#insert = db.prepare(
      `insert into letters(seq, id, facet, at, first_at, replayed, revision, search, body)
       values(?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict(id) do nothing`,
    )
    this.#find = db.prepare('select * from letters where id = ?')
    this.#update = db.prepare(
      'update letters set facet = ?, first_at = ?, replayed = ?, revision = ?, body = ? where seq = ?',
    )
    this.#delete = db.prepare('delete from letters where seq = ?')
    this.#neighbour = db.prepare('select 1 from letters where seq >= ? and seq < ? limit 1')
    this.#deleteShelf = db.prepare('delete from shelves where shelf = ?')
  }

  /** Without a revision it must be new; with one, it replaces the letter that has it. */
  send(row: LetterRow, revision: number | null, capacity: number): SendAnswer {
    const [id, key, , , , , , group] = row
    const facet = this.#facets.of(key, group)
    if (facet === undefined) return 'group'
    if (revision !== null) return this.#replace(row, facet, revision)
    if (capacity < Number.MAX_SAFE_INTEGER && this.#facets.total() >= capacity && !this.#has(id))
      return 'full'
    return this.#add(row, facet, 0) ? undefined : (this.#find.get(id) as StoredLetter | undefined)
  }

  delete(id: string, seen: LetterSeen | undefined): boolean {
    const stored = this.#find.get(id) as StoredLetter | undefined
    if (stored === undefined || (seen !== undefined && !this.#isAsSeen(stored, seen))) return false
    this.#remove(stored)
    const first = shelfOf(stored.seq) * SHELF_SIZE
    if (this.#neighbour.get(first, first + SHELF_SIZE) === undefined)
      this.#deleteShelf.run(shelfOf(stored.seq))
    return true
  }

  #isAsSeen({ at, facet }: StoredLetter, seen: LetterSeen): boolean {
    return at === seen.lastFailedAt && this.#facets.byId(facet).state === seen.state
  }

  #has(id: string): boolean {
    return this.#find.get(id) !== undefined
  }

  #add(row: LetterRow, facet: Facet, revision: number): boolean {
    const [id, , at, firstAt, replayed, search, body] = row
    const seq = this.#counters.last('letter') + 1
    const { changes } = this.#insert.run(seq, id, facet.id, at, firstAt, replayed, revision, search, body)
    if (changes === 0) return false
    this.#counters.next('letter')
    this.#shelves.add(seq, at, search)
    this.#facets.add(facet, { at, firstAt, replayed })
    return true
  }

  #replace(row: LetterRow, facet: Facet, revision: number): SendAnswer {
    const [id, , at, firstAt, replayed, search, body] = row
    const stored = this.#find.get(id) as StoredLetter | undefined
    if (stored === undefined) return 'gone'
    if (stored.revision !== revision) return stored
    if (stored.at !== at || stored.search !== search) {
      // One that failed anew stands with the newest: the search index goes by seq and by time.
      this.#remove(stored)
      this.#add(row, facet, revision + 1)
      return undefined
    }
    this.#facets.remove(this.#facets.byId(stored.facet), countedOf(stored))
    this.#facets.add(facet, { at, firstAt, replayed })
    this.#update.run(facet.id, firstAt, replayed, revision + 1, body, stored.seq)
    return undefined
  }

  #remove(stored: StoredLetter): void {
    this.#delete.run(stored.seq)
    this.#facets.remove(this.#facets.byId(stored.facet), countedOf(stored))
  }
}

function countedOf({ at, first_at: firstAt, replayed }: StoredLetter) {
  return { at, firstAt, replayed }
}
