import type { Columns } from './columns.ts'
import { WORDS } from './uuid-words.ts'

const FIRST_SIZE = 2_048
/** Fuller than this it grows, so that looking for a place stays a matter of a step or two. */
const MOST_FILLED = 0.6

/** Finds the row of a UUID: a hash table that is one array of row numbers, next to the ids in the columns. */
export class IdTable {
  readonly #columns: Columns
  /** Row + 1; 0 is an empty place. */
  #places = new Uint32Array(FIRST_SIZE)
  #count = 0

  constructor(columns: Columns) {
    this.#columns = columns
  }

  find(words: Uint32Array, at: number): number | undefined {
    const row = this.#places[this.#placeOf(words, at)]!
    return row === 0 ? undefined : row - 1
  }

  /** The row's id must not be there yet. */
  add(row: number): void {
    if (this.#count >= this.#places.length * MOST_FILLED) this.#grow()
    this.#places[this.#placeOf(this.#columns.ids, row * WORDS)] = row + 1
    this.#count++
  }

  remove(row: number): void {
    this.#clear(this.#placeOf(this.#columns.ids, row * WORDS))
    this.#count--
  }

  /** Where the id is, or the empty place where it would be. */
  #placeOf(words: Uint32Array, at: number): number {
    const { ids } = this.#columns
    const mask = this.#places.length - 1
    for (let place = hash(words, at) & mask; ; place = (place + 1) & mask) {
      const row = this.#places[place]!
      if (row === 0 || areSame(ids, (row - 1) * WORDS, words, at)) return place
    }
  }

  /** Moves those behind it up, so that no search ends at the gap before it has found its id. */
  #clear(gap: number): void {
    const mask = this.#places.length - 1
    let empty = gap
    this.#places[empty] = 0
    for (let place = (empty + 1) & mask; this.#places[place] !== 0; place = (place + 1) & mask) {
      const home = hash(this.#columns.ids, (this.#places[place]! - 1) * WORDS) & mask
      if (((place - home) & mask) < ((place - empty) & mask)) continue
      this.#places[empty] = this.#places[place]!
      this.#places[place] = 0
      empty = place
    }
  }

  #grow(): void {
    const before = this.#places
    this.#places = new Uint32Array(before.length * 2)
    for (const row of before) {
      if (row !== 0) this.#places[this.#placeOf(this.#columns.ids, (row - 1) * WORDS)] = row
    }
  }
}

/** The last words of a letter's id are a hash already; other UUIDs have their chance there. */
function hash(words: Uint32Array, at: number): number {
  return (words[at + 3]! ^ Math.imul(words[at + 2]!, 0x9e3779b1)) >>> 0
}

function areSame(a: Uint32Array, atA: number, b: Uint32Array, atB: number): boolean {
  return (
    a[atA + 3] === b[atB + 3] && a[atA + 2] === b[atB + 2] && a[atA + 1] === b[atB + 1] && a[atA] === b[atB]
  )
}
