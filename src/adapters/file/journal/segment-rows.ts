import type { Place } from './segment-set.ts'

/** What is known of a `put` line without reading it. `K` is what many lines have in common; it is kept once. */
export interface Facts<K> extends Times {
  readonly id: string
  readonly kind: K
}

/** Epoch milliseconds. */
export interface Times {
  readonly firstFailedAt: number
  readonly lastFailedAt: number
  readonly updatedAt: number
  /** Infinity: never. */
  readonly expiresAt: number
}

export interface RowsContents<K> {
  readonly kinds: K[]
  readonly ids: string[]
  readonly numbers: Float64Array
}

/** Where each number of a row stands. They lie side by side: objects would take three times the memory. */
const KIND = 0
const OFFSET = 1
const LENGTH = 2
const FIRST_FAILED_AT = 3
const LAST_FAILED_AT = 4
const UPDATED_AT = 5
const EXPIRES_AT = 6
const IS_LIVE = 7
const STRIDE = 8

const FIRST_ROWS = 64
const GROWTH = 1.5
/** The kind of a row that says that a line was deleted. */
const DELETED = -1

/** What the lines of one segment say, row by row in the order of writing. */
export class SegmentRows<K> {
  readonly segment: number
  readonly ids: string[]
  readonly kinds: K[]
  readonly #kindNumbers = new Map<string, number>()
  #numbers: Float64Array
  /** `put` lines it has, those of them that still count, and the bytes of these, newlines included. */
  puts = 0
  live = 0
  liveBytes = 0
  /** No row failed before or after. */
  oldestAt = Number.POSITIVE_INFINITY
  newestAt = Number.NEGATIVE_INFINITY

  constructor(segment: number, contents?: RowsContents<K>) {
    this.segment = segment
    this.ids = contents?.ids ?? []
    this.kinds = contents?.kinds ?? []
    this.#numbers = contents?.numbers ?? new Float64Array(FIRST_ROWS * STRIDE)
  }

  get contents(): RowsContents<K> {
    const { kinds, ids } = this
    return { kinds, ids, numbers: this.#numbers.subarray(0, ids.length * STRIDE) }
  }

  addPut({ id, kind, ...times }: Facts<K>, { offset, length }: Omit<Place, 'segment'>): number {
    const row = this.#add(id, this.#numberOf(kind))
    const at = row * STRIDE
    this.#numbers[at + OFFSET] = offset
    this.#numbers[at + LENGTH] = length
    this.#numbers[at + FIRST_FAILED_AT] = times.firstFailedAt
    this.#numbers[at + LAST_FAILED_AT] = times.lastFailedAt
    this.#numbers[at + UPDATED_AT] = times.updatedAt
    this.#numbers[at + EXPIRES_AT] = times.expiresAt
    return row
  }

  addDelete(id: string): number {
    return this.#add(id, DELETED)
  }

  isPut(row: number): boolean {
    return this.#numbers[row * STRIDE] !== DELETED
  }

  isLive(row: number): boolean {
    return this.#numbers[row * STRIDE + IS_LIVE] === 1
  }

  kindNumber(row: number): number {
    return this.#numbers[row * STRIDE + KIND]!
  }

  lastFailedAt(row: number): number {
    return this.#numbers[row * STRIDE + LAST_FAILED_AT]!
  }

  placeOf(row: number): Place {
    const at = row * STRIDE
    return { segment: this.segment, offset: this.#numbers[at + OFFSET]!, length: this.#numbers[at + LENGTH]! }
  }

  factsOf(row: number): Facts<K> {
    const at = row * STRIDE
    return {
      id: this.ids[row]!,
      kind: this.kinds[this.kindNumber(row)]!,
      firstFailedAt: this.#numbers[at + FIRST_FAILED_AT]!,
      lastFailedAt: this.#numbers[at + LAST_FAILED_AT]!,
      updatedAt: this.#numbers[at + UPDATED_AT]!,
      expiresAt: this.#numbers[at + EXPIRES_AT]!,
    }
  }

  /** The line of this row is the latest of its id. */
  setLive(row: number): void {
    const at = row * STRIDE
    const lastFailedAt = this.#numbers[at + LAST_FAILED_AT]!
    this.#numbers[at + IS_LIVE] = 1
    this.puts++
    this.live++
    this.liveBytes += this.#numbers[at + LENGTH]! + 1
    this.oldestAt = Math.min(this.oldestAt, lastFailedAt)
    this.newestAt = Math.max(this.newestAt, lastFailedAt)
  }

  /** It counts no more. */
  setDead(row: number): void {
    this.#numbers[row * STRIDE + IS_LIVE] = 0
    this.live--
    this.liveBytes -= this.#numbers[row * STRIDE + LENGTH]! + 1
  }

  #add(id: string, kind: number): number {
    const row = this.ids.push(id) - 1
    if (row * STRIDE === this.#numbers.length) {
      const larger = new Float64Array(Math.ceil(row * GROWTH) * STRIDE)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[row * STRIDE + KIND] = kind
    return row
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
