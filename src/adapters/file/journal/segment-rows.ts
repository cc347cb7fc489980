import { hashOf } from './id-table.ts'
import type { RecordLocation } from './segment-set.ts'

/** The facts about a `put` line that need no reading. `K` holds the values that many lines share, and is stored once. */
export interface Facts<K> extends Times {
  readonly kind: K
}

export interface Put<K> extends Facts<K> {
  readonly id: string
}

/** Epoch milliseconds. */
interface Times {
  readonly firstFailedAt: number
  readonly lastFailedAt: number
  readonly updatedAt: number
  /** Infinity if the line never expires. */
  readonly expiresAt: number
}

/** The location of a line, as the index knows it. */
export interface LineLocation extends RecordLocation {
  /** The rows that have the line. A rewritten file gets new rows, and an offset in the old file means nothing in the new one. */
  readonly rowsId: symbol
}

/** Whether both locations are those of one line. It says no if the file was rewritten between them. */
export function isSameLine(one: LineLocation, other: LineLocation | undefined): boolean {
  return one.rowsId === other?.rowsId && one.offset === other.offset
}

export interface RowsContents<K> {
  readonly kinds: K[]
  /** All ids as UTF-8, one after the other. */
  readonly ids: Buffer
  readonly numbers: Int32Array
  readonly times: Float64Array
}

/** The positions of the numbers in a row. Rows are typed arrays, because objects would take three times the memory. */
const KIND = 0
const OFFSET = 1
const LENGTH = 2
const IS_LIVE = 3
const HASH = 4
/** The end of the id among the bytes of all ids. */
const ID_END = 5
const NUMBERS = 6
const FIRST_FAILED_AT = 0
const LAST_FAILED_AT = 1
const UPDATED_AT = 2
const EXPIRES_AT = 3
const TIMES = 4

const FIRST_ROWS = 64
const GROWTH = 1.5
/** The kind of a row for a deleted line. */
const DELETED = -1

/** The facts of the lines of one segment, one row for each line in the order of writing. */
export class SegmentRows<K> {
  readonly segment: number
  /** Only lines that are added to one file have rows with one id. */
  readonly id = Symbol()
  readonly kinds: K[]
  readonly #kindNumbers = new Map<string, number>()
  #numbers: Int32Array
  #times: Float64Array
  /** The ids are bytes, because a million texts take too much memory. New ids are kept as texts until then. */
  #ids: Buffer
  #added: string[] = []
  #count: number
  /** The number of `put` lines, the number of live ones, and the bytes of the live ones with their newlines. */
  puts = 0
  live = 0
  liveBytes = 0
  /** The earliest and the latest failure of all rows. */
  oldestAt = Number.POSITIVE_INFINITY
  newestAt = Number.NEGATIVE_INFINITY

  constructor(segment: number, contents?: RowsContents<K>) {
    this.segment = segment
    this.kinds = contents?.kinds ?? []
    this.#ids = contents?.ids ?? Buffer.alloc(0)
    this.#numbers = contents?.numbers ?? new Int32Array(FIRST_ROWS * NUMBERS)
    this.#times = contents?.times ?? new Float64Array(FIRST_ROWS * TIMES)
    this.#count = contents === undefined ? 0 : contents.numbers.length / NUMBERS
  }

  get count(): number {
    return this.#count
  }

  get contents(): RowsContents<K> {
    this.#ids = Buffer.concat([this.#ids, Buffer.from(this.#added.join(''))])
    this.#added = []
    return {
      kinds: this.kinds,
      ids: this.#ids,
      numbers: this.#numbers.subarray(0, this.#count * NUMBERS),
      times: this.#times.subarray(0, this.#count * TIMES),
    }
  }

  addPut({ id, kind, ...times }: Put<K>, { offset, length }: Omit<RecordLocation, 'segment'>): number {
    const row = this.#add(id, this.#numberOf(kind))
    this.#numbers[row * NUMBERS + OFFSET] = offset
    this.#numbers[row * NUMBERS + LENGTH] = length
    this.#times[row * TIMES + FIRST_FAILED_AT] = times.firstFailedAt
    this.#times[row * TIMES + LAST_FAILED_AT] = times.lastFailedAt
    this.#times[row * TIMES + UPDATED_AT] = times.updatedAt
    this.#times[row * TIMES + EXPIRES_AT] = times.expiresAt
    return row
  }

  addDelete(id: string): number {
    return this.#add(id, DELETED)
  }

  idOf(row: number): string {
    const added = row - this.#count + this.#added.length
    return added < 0
      ? this.#ids.toString('utf8', this.#idEnd(row - 1), this.#idEnd(row))
      : this.#added[added]!
  }

  hashOf(row: number): number {
    return this.#numbers[row * NUMBERS + HASH]!
  }

  isPut(row: number): boolean {
    return this.kindNumber(row) !== DELETED
  }

  isLive(row: number): boolean {
    return this.#numbers[row * NUMBERS + IS_LIVE] === 1
  }

  kindNumber(row: number): number {
    return this.#numbers[row * NUMBERS + KIND]!
  }

  firstFailedAt(row: number): number {
    return this.#times[row * TIMES + FIRST_FAILED_AT]!
  }

  lastFailedAt(row: number): number {
    return this.#times[row * TIMES + LAST_FAILED_AT]!
  }

  locationOf(row: number): LineLocation {
    const at = row * NUMBERS
    const [offset, length] = [this.#numbers[at + OFFSET]!, this.#numbers[at + LENGTH]!]
    return { segment: this.segment, offset, length, rowsId: this.id }
  }

  factsOf(row: number): Facts<K> {
    const at = row * TIMES
    return {
      kind: this.kinds[this.kindNumber(row)]!,
      firstFailedAt: this.firstFailedAt(row),
      lastFailedAt: this.lastFailedAt(row),
      updatedAt: this.#times[at + UPDATED_AT]!,
      expiresAt: this.#times[at + EXPIRES_AT]!,
    }
  }

  /** Marks the line of this row as the latest of its id. */
  setLive(row: number): void {
    this.#numbers[row * NUMBERS + IS_LIVE] = 1
    this.puts++
    this.live++
    this.liveBytes += this.#numbers[row * NUMBERS + LENGTH]! + 1
    this.oldestAt = Math.min(this.oldestAt, this.lastFailedAt(row))
    this.newestAt = Math.max(this.newestAt, this.lastFailedAt(row))
  }

  /** Marks the line of this row as no longer valid. */
  setDead(row: number): void {
    this.#numbers[row * NUMBERS + IS_LIVE] = 0
    this.live--
    this.liveBytes -= this.#numbers[row * NUMBERS + LENGTH]! + 1
  }

  #add(id: string, kind: number): number {
    const row = this.#count++
    if (row * TIMES === this.#times.length) this.#grow(Math.ceil(row * GROWTH))
    this.#added.push(id)
    this.#numbers[row * NUMBERS + KIND] = kind
    this.#numbers[row * NUMBERS + HASH] = hashOf(id)
    this.#numbers[row * NUMBERS + ID_END] = this.#idEnd(row - 1) + Buffer.byteLength(id)
    return row
  }

  #grow(rows: number): void {
    const [numbers, times] = [this.#numbers, this.#times]
    this.#numbers = new Int32Array(rows * NUMBERS)
    this.#numbers.set(numbers)
    this.#times = new Float64Array(rows * TIMES)
    this.#times.set(times)
  }

  #idEnd(row: number): number {
    return row < 0 ? 0 : this.#numbers[row * NUMBERS + ID_END]!
  }

  #numberOf(kind: K): number {
    const key = JSON.stringify(kind)
    let number = this.#kindNumbers.get(key)
    if (number === undefined) {
      number = this.kinds.push(kind) - 1
      this.#kindNumbers.set(key, number)
    }
    return number
  }
}
