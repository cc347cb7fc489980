import type { DatabaseSync } from 'node:sqlite'
import {
  BLOCK_SIZE,
  BLOCKS_PER_SHELF,
  blocksWith,
  gramsOf,
  SHELF_SIZE,
  unpackGrams,
} from '../search-shape.ts'
import { Best, type Found, isWithin, type Span } from './letter-places.ts'
import { all } from './rows.ts'

/** A run of letters by seq that may hold what is looked for, and the times they failed at. */
interface Block {
  readonly from: number
  readonly to: number
  readonly earliest: number
  readonly latest: number
}

export interface BlockQuery {
  /** Lower-cased; undefined when any text will do. */
  readonly text: string | undefined
  /** Undefined when any facet will do. */
  readonly facets: ReadonlySet<number> | undefined
  readonly span: Span
}

/** Looks through letters block by block. It is how texts are found, and what no single index can answer. */
export class BlockSearch {
  readonly #shelves
  readonly #lastShelf
  readonly #any
  readonly #having

  constructor(db: DatabaseSync) {
    this.#shelves = db.prepare('select shelf, grams, spans from shelves')
    this.#lastShelf = db.prepare('select coalesce(max(shelf), -1) as shelf from shelves')
    const columns = 'seq, id, at as lastFailedAt, facet'
    this.#any = db.prepare(`select ${columns} from letters where seq >= ? and seq < ?`)
    this.#having = db.prepare(
      `select ${columns} from letters where seq >= ? and seq < ? and instr(search, ?) > 0`,
    )
  }

  /**
   * The first letters of the list that match. Blocks are read latest first, until none is left whose latest letter
   * could still be among them.
   */
  first(query: BlockQuery, limit: number): readonly Found[] {
    const best = new Best(limit)
    const blocks = this.#blocks(query).sort((a, b) => b.latest - a.latest)
    for (const block of blocks) {
      if (best.isBetterThan(block.latest)) break
      best.add(this.#read(block, query))
    }
    return best.all
  }

  /** Every letter that matches, in no order. */
  *every(query: BlockQuery): Iterable<Found> {
    for (const block of this.#blocks(query)) yield* this.#read(block, query)
  }

  #blocks(query: BlockQuery): Block[] {
    const { text = '', span } = query
    const hashes = gramsOf(text)
    const latestAllowed = Math.min(span.before, span.behind?.lastFailedAt ?? Number.POSITIVE_INFINITY)
    const blocks: Block[] = []
    for (const row of this.#shelves.iterate()) {
      const { shelf, grams, spans } = row as { shelf: number; grams: Uint8Array; spans: Uint8Array }
      const mask = hashes.length === 0 ? -1 : maskOf(grams, hashes)
      if (mask === 0) continue
      const times = new Float64Array(new Uint8Array(spans).buffer)
      for (let block = 0; block < BLOCKS_PER_SHELF; block++) {
        const [earliest, latest] = [times[block * 2]!, times[block * 2 + 1]!]
        if ((mask & (1 << block)) === 0 || earliest > latestAllowed || latest < span.after) continue
        const from = shelf * SHELF_SIZE + block * BLOCK_SIZE
        blocks.push({ from, to: from + BLOCK_SIZE, earliest, latest })
      }
    }
    // What comes behind the last shelf is not in the index yet.
    const { shelf } = this.#lastShelf.get() as { shelf: number }
    const always = { earliest: Number.NEGATIVE_INFINITY, latest: Number.POSITIVE_INFINITY }
    return [{ from: (shelf + 1) * SHELF_SIZE, to: Number.MAX_SAFE_INTEGER, ...always }, ...blocks]
  }

  #read({ from, to }: Block, { text, facets, span }: BlockQuery): Found[] {
    const rows =
      text === undefined ? all<Found>(this.#any, from, to) : all<Found>(this.#having, from, to, text)
    return rows.filter(found => (facets === undefined || facets.has(found.facet)) && isWithin(found, span))
  }
}

/** The blocks of a shelf that have all of the grams. */
function maskOf(grams: Uint8Array, hashes: readonly number[]): number {
  const index = unpackGrams(grams)
  let mask = -1
  for (const hash of hashes) {
    mask &= blocksWith(index, hash)
    if (mask === 0) break
  }
  return mask
}
