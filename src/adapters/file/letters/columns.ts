import { WORDS } from './uuid-words.ts'

const FLOATS = ['firstFailedAt', 'lastFailedAt', 'updatedAt'] as const
const NUMBERS = ['segment', 'offset', 'length', 'kind'] as const
const BYTES = ['state', 'isReplayed', 'isOdd'] as const
const FIRST_CAPACITY = 1_024
const GROWTH = 1.5
export const ROW_BYTES = FLOATS.length * 8 + (NUMBERS.length + WORDS) * 4 + BYTES.length

/**
 * What is known of letters without reading them, as columns of plain numbers: a million rows take about 60 MB, where
 * objects would take half a gigabyte.
 */
export class Columns {
  capacity: number
  firstFailedAt!: Float64Array
  lastFailedAt!: Float64Array
  updatedAt!: Float64Array
  segment!: Uint32Array
  offset!: Uint32Array
  length!: Uint32Array
  /** The number of a Kind. */
  kind!: Uint32Array
  /** From 1; 0 means that the letter is deleted. */
  state!: Uint8Array
  isReplayed!: Uint8Array
  /** Its id is no UUID and is kept elsewhere. */
  isOdd!: Uint8Array
  /** Four per row. */
  ids!: Uint32Array

  /** Over bytes that a Columns has written, or empty ones. */
  constructor(capacity = FIRST_CAPACITY, bytes = new ArrayBuffer(capacity * ROW_BYTES), at = 0) {
    this.capacity = capacity
    let start = at
    const next = (width: number) => {
      start += capacity * width
      return start - capacity * width
    }
    for (const name of FLOATS) this[name] = new Float64Array(bytes, next(8), capacity)
    for (const name of NUMBERS) this[name] = new Uint32Array(bytes, next(4), capacity)
    this.ids = new Uint32Array(bytes, next(4 * WORDS), capacity * WORDS)
    for (const name of BYTES) this[name] = new Uint8Array(bytes, next(1), capacity)
  }

  /** Makes sure that there is a row of that number. */
  reserve(row: number): void {
    if (row < this.capacity) return
    const capacity = Math.max(row + 1, Math.ceil(this.capacity * GROWTH))
    // One column after the other, so that no more than one is there twice.
    for (const name of FLOATS) this[name] = larger(this[name], new Float64Array(capacity))
    for (const name of NUMBERS) this[name] = larger(this[name], new Uint32Array(capacity))
    for (const name of BYTES) this[name] = larger(this[name], new Uint8Array(capacity))
    this.ids = larger(this.ids, new Uint32Array(capacity * WORDS))
    this.capacity = capacity
  }

  /** Everything but the id. Told column by column, because it is done for every letter there is. */
  copyRow(from: Columns, row: number, to: number): void {
    this.firstFailedAt[to] = from.firstFailedAt[row]!
    this.lastFailedAt[to] = from.lastFailedAt[row]!
    this.updatedAt[to] = from.updatedAt[row]!
    this.segment[to] = from.segment[row]!
    this.offset[to] = from.offset[row]!
    this.length[to] = from.length[row]!
    this.kind[to] = from.kind[row]!
    this.state[to] = from.state[row]!
    this.isReplayed[to] = from.isReplayed[row]!
    this.isOdd[to] = from.isOdd[row]!
  }

  /** The first rows, in this machine's own order of bytes. */
  toBytes(rows: number): Buffer {
    const bytes = Buffer.alloc(rows * ROW_BYTES)
    const into = new Columns(rows, bytes.buffer, bytes.byteOffset)
    for (const name of FLOATS) into[name].set(this[name].subarray(0, rows))
    for (const name of NUMBERS) into[name].set(this[name].subarray(0, rows))
    for (const name of BYTES) into[name].set(this[name].subarray(0, rows))
    into.ids.set(this.ids.subarray(0, rows * WORDS))
    return bytes
  }
}

function larger<T extends Float64Array | Uint32Array | Uint8Array>(from: T, into: T): T {
  into.set(from)
  return into
}
