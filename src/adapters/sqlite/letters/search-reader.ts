import type { DatabaseSync } from 'node:sqlite'
import { all } from '../connection/rows.ts'
import type { Span } from './letter-places.ts'
import {
  BLOCK_SIZE,
  BLOCKS_PER_SHELF,
  blocksWith,
  SHELF_SIZE,
  type ShelfIndex,
  unpackGrams,
} from './search-index.ts'

/** So many shelves are kept in memory, about 30 MB of them; those beyond are read for every search. */
const MOST_KEPT = 1_000
const ALL_BLOCKS = -1

/** A run of letters by seq, and the latest time that one of them failed at. */
export interface Run {
  readonly from: number
  readonly to: number
  readonly latest: number
}

interface Shelf extends Run {
  readonly number: number
}

/** Reads the search index (search-shape): which runs of letters have to be looked into. */
export class ShelfReader {
  readonly #within
  readonly #last
  readonly #spans
  readonly #grams
  /** A shelf is written once, and its number is not used again. */
  readonly #kept = new Map<number, ShelfIndex>()

  constructor(db: DatabaseSync) {
    this.#within = db.prepare(
      `select shelf as number, shelf * ${SHELF_SIZE} as "from", (shelf + 1) * ${SHELF_SIZE} as "to", latest
       from shelves where latest >= ? and earliest < ? and earliest <= ? order by latest desc`,
    )
    this.#last = db.prepare('select coalesce(max(shelf), -1) as shelf from shelves')
    this.#spans = db.prepare('select spans from shelves where shelf = ?')
    this.#grams = db.prepare('select grams from shelves where shelf = ?')
  }

  /** Where the letters begin that are on no shelf yet. */
  get end(): number {
    return ((this.#last.get() as { shelf: number }).shelf + 1) * SHELF_SIZE
  }

  /** The shelves that may have letters of these times, latest first. */
  shelves({ after, before, behind }: Span): readonly Shelf[] {
    return all<Shelf>(this.#within, after, before, behind?.lastFailedAt ?? Number.POSITIVE_INFINITY)
  }

  /** The blocks of a shelf with letters of these times that may have all of the grams, latest first. */
  blocks({ number, from }: Shelf, span: Span, hashes: readonly number[]): readonly Run[] {
    const mask = this.#maskOf(number, hashes)
    if (mask === 0) return []
    const { spans } = this.#spans.get(number) as { spans: Uint8Array }
    const times = new Float64Array(spans.slice().buffer)
    const blocks: Run[] = []
    for (let block = 0; block < BLOCKS_PER_SHELF; block++) {
      if ((mask & (1 << block)) === 0 || !overlaps(times, block, span)) continue
      const first = from + block * BLOCK_SIZE
      blocks.push({ from: first, to: first + BLOCK_SIZE, latest: times[block * 2 + 1]! })
    }
    return blocks.sort((a, b) => b.latest - a.latest)
  }

  #maskOf(shelf: number, hashes: readonly number[]): number {
    if (hashes.length === 0) return ALL_BLOCKS
    const index = this.#index(shelf)
    let mask = ALL_BLOCKS
    for (const hash of hashes) {
      mask &= blocksWith(index, hash)
      if (mask === 0) break
    }
    return mask
  }

  #index(shelf: number): ShelfIndex {
    const kept = this.#kept.get(shelf)
    if (kept !== undefined) return kept
    const { grams } = this.#grams.get(shelf) as { grams: Uint8Array }
    const index = unpackGrams(grams)
    if (this.#kept.size < MOST_KEPT) this.#kept.set(shelf, index)
    return index
  }
}

function overlaps(times: Float64Array, block: number, { behind, before, after }: Span): boolean {
  const earliest = times[block * 2]!
  const latest = times[block * 2 + 1]!
  return (
    latest >= after && earliest < before && earliest <= (behind?.lastFailedAt ?? Number.POSITIVE_INFINITY)
  )
}
