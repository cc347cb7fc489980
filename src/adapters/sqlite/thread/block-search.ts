import type { DatabaseSync } from 'node:sqlite'
import { Best, type Found, isWithin, type Span } from './letter-places.ts'
import { all } from './rows.ts'
import { type Block, ShelfReader } from './shelf-reader.ts'

export interface BlockQuery {
  /** Lower-cased; undefined when any text will do. */
  readonly text: string | undefined
  readonly facets: ReadonlySet<number>
  readonly span: Span
}

/** Looks through letters block by block, by time. It is how texts are found, and what no single index can answer. */
export class BlockSearch {
  readonly #shelves: ShelfReader
  readonly #any
  readonly #having

  constructor(db: DatabaseSync) {
    this.#shelves = new ShelfReader(db)
    const columns = 'seq, id, at as lastFailedAt, facet'
    this.#any = db.prepare(`select ${columns} from letters where seq >= ? and seq < ?`)
    this.#having = db.prepare(
      `select ${columns} from letters where seq >= ? and seq < ? and instr(search, ?) > 0`,
    )
  }

  blocks(span: Span, text: string | undefined): readonly Block[] {
    return this.#shelves.blocks(span, text)
  }

  /**
   * The first letters of the list that match. Blocks are read latest first, until none is left whose latest letter
   * could still be among them.
   */
  first(query: BlockQuery, blocks: readonly Block[], limit: number): readonly Found[] {
    const best = new Best(limit)
    for (const block of blocks) {
      if (best.isBetterThan(block.latest)) break
      best.add(this.#read(block, query))
    }
    return best.all
  }

  /** Every letter that matches, in no order. */
  *every(query: BlockQuery): Iterable<Found> {
    for (const block of this.blocks(query.span, query.text)) yield* this.#read(block, query)
  }

  #read({ from, to }: Block, { text, facets, span }: BlockQuery): Found[] {
    const rows =
      text === undefined ? all<Found>(this.#any, from, to) : all<Found>(this.#having, from, to, text)
    return rows.filter(found => facets.has(found.facet) && isWithin(found, span))
  }
}
