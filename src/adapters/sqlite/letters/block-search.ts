import type { DatabaseSync } from 'node:sqlite'
import { all } from '../connection/rows.ts'
import { Best, type Found, isWithin, type Span } from './letter-places.ts'
import { gramsOf, SHELF_SIZE } from './search-index.ts'
import { type Run, ShelfReader } from './search-reader.ts'

interface BlockQuery {
  /** Lower-cased; undefined when any text will do. */
  readonly text: string | undefined
  readonly facets: ReadonlySet<number>
  readonly span: Span
}

/** Looks through letters block by block, by time. It is how texts are found, and what no single index can answer. */
export class BlockSearch {
  readonly #reader: ShelfReader
  readonly #any
  readonly #having

  constructor(db: DatabaseSync) {
    this.#reader = new ShelfReader(db)
    const columns = 'seq, id, at as lastFailedAt, facet'
    this.#any = db.prepare(`select ${columns} from letters where seq >= ? and seq < ?`)
    this.#having = db.prepare(
      `select ${columns} from letters where seq >= ? and seq < ? and instr(search, ?) > 0`,
    )
  }

  /** About how many letters there are of these times. */
  lettersIn(span: Span): number {
    return this.#reader.shelves(span).length * SHELF_SIZE
  }

  /**
   * The first letters of the list that match. Shelves and the blocks on them are read latest first, until none is left
   * whose latest letter could still be among them.
   */
  first(query: BlockQuery, limit: number): readonly Found[] {
    const best = new Best(limit)
    const hashes = gramsOf(query.text ?? '')
    best.add(this.#read(tail(this.#reader.end), query))
    for (const shelf of this.#reader.shelves(query.span)) {
      if (best.isBetterThan(shelf.latest)) break
      for (const block of this.#reader.blocks(shelf, query.span, hashes)) {
        if (best.isBetterThan(block.latest)) break
        best.add(this.#read(block, query))
      }
    }
    return best.all
  }

  /** Every letter that matches, in no order. */
  *every(query: BlockQuery): Iterable<Found> {
    const hashes = gramsOf(query.text ?? '')
    yield* this.#read(tail(this.#reader.end), query)
    for (const shelf of this.#reader.shelves(query.span))
      for (const block of this.#reader.blocks(shelf, query.span, hashes)) yield* this.#read(block, query)
  }

  #read({ from, to }: Run, { text, facets, span }: BlockQuery): Found[] {
    const rows =
      text === undefined ? all<Found>(this.#any, from, to) : all<Found>(this.#having, from, to, text)
    return rows.filter(found => facets.has(found.facet) && isWithin(found, span))
  }
}

/** What comes behind the last shelf is not in the index yet: less than a shelf. */
function tail(from: number): Run {
  return { from, to: Number.MAX_SAFE_INTEGER, latest: Number.POSITIVE_INFINITY }
}
