import type { Database } from '../connection/database.ts'
import type { Cached } from '../connection/writer-context.ts'
import {
  BLOCKS_PER_SEGMENT,
  blockOf,
  GRAM_HASHES,
  markGrams,
  packGrams,
  SEGMENT_SIZE,
  segmentOf,
} from './search-index.ts'

/**
 * Writes the search index (search-index). The segment that is being filled is kept in memory and written when the first
 * letter of the next one comes, in the same transaction; until then its letters are searched one by one. Bits that stay
 * set for letters that went, or of a transaction that was rolled back, only cost a useless read.
 */
export class SearchWriter implements Cached {
  readonly #db: Database
  readonly #masks = new Uint32Array(GRAM_HASHES)
  #spans = emptySpans()
  /** The segment being filled, and the last of its letters that is in it; undefined when nothing is known. */
  #segment: number | undefined
  #seenTo = 0

  constructor(db: Database) {
    this.#db = db
  }

  /** Call this for every new letter after its insertion. Its seq must be the greatest so far. */
  add(seq: number, at: number, search: string): void {
    const segment = segmentOf(seq)
    if (this.#segment === undefined) this.#start(this.#lastFinished() + 1)
    for (let full = this.#segment!; full < segment; full++) this.#finish(full)
    // Letters of other processes, and all of the segment after a start, are taken from the table.
    if (this.#seenTo < seq - 1) this.#catchUp(seq)
    this.#see(seq, at, search)
  }

  /** The segment in memory stays valid when other processes write: letters are only added after the last one. */
  forget(why: 'rolled-back' | 'others-wrote'): void {
    // A transaction that was rolled back gives its numbers to other letters.
    if (why === 'rolled-back' || this.#segment !== this.#lastFinished() + 1) this.#segment = undefined
  }

  #see(seq: number, at: number, search: string): void {
    const block = blockOf(seq)
    markGrams(search, this.#masks, 1 << block)
    this.#spans[block * 2] = Math.min(this.#spans[block * 2]!, at)
    this.#spans[block * 2 + 1] = Math.max(this.#spans[block * 2 + 1]!, at)
    this.#seenTo = seq
  }

  #catchUp(before: number): void {
    const rows = this.#db.all<{ seq: number; at: number; search: string }>`
      select seq, at, search from letters where seq > ${this.#seenTo} and seq < ${before} order by seq`
    for (const { seq, at, search } of rows) this.#see(seq, at, search)
    this.#seenTo = before - 1
  }

  #finish(segment: number): void {
    this.#catchUp((segment + 1) * SEGMENT_SIZE)
    const times = this.#spans.filter(Number.isFinite)
    const spans = new Uint8Array(this.#spans.buffer)
    this.#db.run`insert into shelves(shelf, earliest, latest, spans, grams)
      values(${segment}, ${Math.min(...times)}, ${Math.max(...times)}, ${spans}, ${packGrams(this.#masks)})`
    this.#start(segment + 1)
  }

  #start(segment: number): void {
    this.#segment = segment
    this.#seenTo = segment * SEGMENT_SIZE - 1
    this.#masks.fill(0)
    this.#spans = emptySpans()
  }

  #lastFinished(): number {
    return this.#db.get<{ last: number }>`select coalesce(max(shelf), -1) as last from shelves`!.last
  }
}

/** The earliest and the latest time of each block. A block without letters has an empty range. */
function emptySpans(): Float64Array {
  const spans = new Float64Array(BLOCKS_PER_SEGMENT * 2)
  for (let block = 0; block < BLOCKS_PER_SEGMENT; block++) {
    spans[block * 2] = Number.POSITIVE_INFINITY
    spans[block * 2 + 1] = Number.NEGATIVE_INFINITY
  }
  return spans
}
