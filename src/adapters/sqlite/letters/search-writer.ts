import type { DatabaseSync } from 'node:sqlite'
import type { Part } from '../connection/part.ts'
import {
  BLOCKS_PER_SHELF,
  blockOf,
  GRAM_HASHES,
  markGrams,
  packGrams,
  SHELF_SIZE,
  shelfOf,
} from './search-index.ts'

/**
 * Writes the search index (search-shape). The shelf that is being filled is kept in memory and written when the first
 * letter of the next one comes, in the same transaction; until then its letters are searched one by one. Bits that stay
 * set for letters that went, or of a transaction that was rolled back, only cost a look in vain.
 */
export class Shelves implements Part {
  readonly #insert
  readonly #since
  readonly #lastShelf
  readonly #masks = new Uint32Array(GRAM_HASHES)
  #spans = emptySpans()
  /** The shelf being filled, and the last of its letters that is in it; undefined when nothing is known. */
  #shelf: number | undefined
  #seenTo = 0

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(
      'insert into shelves(shelf, earliest, latest, spans, grams) values(?, ?, ?, ?, ?)',
    )
    this.#since = db.prepare('select seq, at, search from letters where seq > ? and seq < ? order by seq')
    this.#lastShelf = db.prepare('select coalesce(max(shelf), -1) as shelf from shelves')
  }

  /** To be called with every new letter, after it was inserted; its seq is the greatest ever. */
  add(seq: number, at: number, search: string): void {
    const shelf = shelfOf(seq)
    if (this.#shelf === undefined) this.#start(this.#lastFinished() + 1)
    for (let full = this.#shelf!; full < shelf; full++) this.#finish(full)
    // Letters of other processes, and all of the shelf after a start, are taken from the table.
    if (this.#seenTo < seq - 1) this.#catchUp(seq)
    this.#see(seq, at, search)
  }

  flush(): void {}

  /** What is in memory stays true when others wrote: letters are only ever added behind the last one. */
  forget(why: 'rolled-back' | 'others-wrote'): void {
    // A transaction that was rolled back gives its numbers to other letters.
    if (why === 'rolled-back' || this.#shelf !== this.#lastFinished() + 1) this.#shelf = undefined
  }

  #see(seq: number, at: number, search: string): void {
    const block = blockOf(seq)
    markGrams(search, this.#masks, 1 << block)
    this.#spans[block * 2] = Math.min(this.#spans[block * 2]!, at)
    this.#spans[block * 2 + 1] = Math.max(this.#spans[block * 2 + 1]!, at)
    this.#seenTo = seq
  }

  #catchUp(before: number): void {
    for (const row of this.#since.iterate(this.#seenTo, before)) {
      const { seq, at, search } = row as { seq: number; at: number; search: string }
      this.#see(seq, at, search)
    }
    this.#seenTo = before - 1
  }

  #finish(shelf: number): void {
    this.#catchUp(this.#firstOf(shelf + 1))
    const times = this.#spans.filter(Number.isFinite)
    const spans = new Uint8Array(this.#spans.buffer)
    this.#insert.run(shelf, Math.min(...times), Math.max(...times), spans, packGrams(this.#masks))
    this.#start(shelf + 1)
  }

  #start(shelf: number): void {
    this.#shelf = shelf
    this.#seenTo = this.#firstOf(shelf) - 1
    this.#masks.fill(0)
    this.#spans = emptySpans()
  }

  #firstOf(shelf: number): number {
    return shelf * SHELF_SIZE
  }

  #lastFinished(): number {
    return (this.#lastShelf.get() as { shelf: number }).shelf
  }
}

/** Of each block the earliest and the latest time; a block without letters has none between them. */
function emptySpans(): Float64Array {
  const spans = new Float64Array(BLOCKS_PER_SHELF * 2)
  for (let block = 0; block < BLOCKS_PER_SHELF; block++) {
    spans[block * 2] = Number.POSITIVE_INFINITY
    spans[block * 2 + 1] = Number.NEGATIVE_INFINITY
  }
  return spans
}
