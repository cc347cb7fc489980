import type { LetterSeen } from '../../../ports/dead-letters.ts'
import { comparePlaces, type LetterPlace } from '../../../ports/letter-query.ts'
import { LiveLines } from '../journal/live-lines.ts'
import type { Place } from '../journal/segment-set.ts'
import { Columns } from './columns.ts'
import { IdTable } from './id-table.ts'
import { Kinds } from './kinds.ts'
import { Order } from './order.ts'
import { DELETED, type Sheet, stateNumber } from './sheet.ts'
import { readUuid, WORDS, writeUuid } from './uuid-words.ts'

/** Deleted rows stay in the order, marked, until there are as many as this share of it. */
const MOST_DELETED = 0.25
const FEWEST_PURGED = 4_096

/**
 * What is known of every letter without reading it: where its record lies and what filters, order and counts need. A
 * row keeps its place in the order for as long as it lives; a letter whose time changes gets another row.
 */
export class LetterIndex {
  readonly columns = new Columns()
  readonly kinds = new Kinds()
  readonly live = new LiveLines()
  readonly #table = new IdTable(this.columns)
  readonly #order = new Order((a, b) => this.#compare(a, b))
  readonly #oddRows = new Map<string, number>()
  readonly #oddIds = new Map<number, string>()
  readonly #expiries = new Map<number, number>()
  readonly #sought = new Uint32Array(WORDS)
  readonly #free: number[] = []
  #rows = 0
  #count = 0

  get count(): number {
    return this.#count
  }

  /** One more than the highest row there ever was. */
  get rows(): number {
    return this.#rows
  }

  find(id: string): number | undefined {
    return writeUuid(id, this.#sought, 0) ? this.#table.find(this.#sought, 0) : this.#oddRows.get(id)
  }

  idOf(row: number): string {
    return this.#oddIds.get(row) ?? readUuid(this.columns.ids, row * WORDS)
  }

  /** Infinity: never. */
  expiresAt(row: number): number {
    return this.#expiries.get(row) ?? Number.POSITIVE_INFINITY
  }

  placeOf(row: number): Place {
    const { segment, offset, length } = this.columns
    return { segment: segment[row]!, offset: offset[row]!, length: length[row]! }
  }

  /** Takes over what the row of a sheet says. */
  take(sheet: Sheet, row: number): void {
    const known = this.#findRow(sheet, row)
    const from = sheet.columns
    if (from.state[row] === DELETED) {
      if (known !== undefined) this.remove(known)
      return
    }
    if (known !== undefined && this.columns.lastFailedAt[known] === from.lastFailedAt[row]) {
      this.#dies(known)
      this.#copy(sheet, row, known)
      return
    }
    if (known !== undefined) this.remove(known)
    this.#copy(sheet, row, this.#addRow(sheet, row))
  }

  isAsSeen(row: number, { state, lastFailedAt }: LetterSeen): boolean {
    return this.columns.lastFailedAt[row] === lastFailedAt && this.columns.state[row] === stateNumber(state)
  }

  remove(row: number): void {
    const odd = this.#oddIds.get(row)
    if (odd === undefined) this.#table.remove(row)
    else this.#oddRows.delete(odd)
    this.#dies(row)
    this.columns.state[row] = DELETED
    this.#count--
    this.#purge()
  }

  /** Its line lies elsewhere in the same segment now. */
  move(row: number, offset: number): void {
    this.columns.offset[row] = offset
  }

  sort(): void {
    this.#order.sort()
  }

  /** Rows in order, oldest failure first, deleted ones among them. Good until the next change. */
  get inOrder(): Uint32Array {
    return this.#order.sorted
  }

  /** How many rows come before the place, in that order. */
  countBefore(place: LetterPlace): number {
    return this.#order.countBefore(row => comparePlaces(this.placeInList(row), place) > 0)
  }

  placeInList(row: number): LetterPlace {
    return { lastFailedAt: this.columns.lastFailedAt[row]!, id: this.idOf(row) }
  }

  #findRow(sheet: Sheet, row: number): number | undefined {
    if (sheet.columns.isOdd[row] === 1) return this.#oddRows.get(sheet.idOf(row))
    return this.#table.find(sheet.columns.ids, row * WORDS)
  }

  #addRow(sheet: Sheet, from: number): number {
    const row = this.#free.pop() ?? this.#rows++
    this.columns.reserve(row)
    if (sheet.columns.isOdd[from] === 1) {
      const id = sheet.idOf(from)
      this.#oddRows.set(id, row)
      this.#oddIds.set(row, id)
    } else {
      for (let word = 0; word < WORDS; word++) {
        this.columns.ids[row * WORDS + word] = sheet.columns.ids[from * WORDS + word]!
      }
      this.#table.add(row)
    }
    this.columns.lastFailedAt[row] = sheet.columns.lastFailedAt[from]!
    this.#order.add(row)
    this.#count++
    return row
  }

  #copy(sheet: Sheet, row: number, to: number): void {
    this.columns.copyRow(sheet.columns, row, to)
    const expiresAt = sheet.expiries.get(row)
    if (expiresAt !== undefined) this.#expiries.set(to, expiresAt)
    this.live.add(this.columns.segment[to]!, this.columns.length[to]!)
  }

  #dies(row: number): void {
    this.#expiries.delete(row)
    this.live.remove(this.columns.segment[row]!, this.columns.length[row]!)
  }

  /** Rows that are deleted leave the order together, and only then are they used for other letters. */
  #purge(): void {
    const deleted = this.#order.length - this.#count
    if (deleted < FEWEST_PURGED || deleted < this.#order.length * MOST_DELETED) return
    for (const row of this.#order.purge(each => this.columns.state[each] !== DELETED)) {
      this.#oddIds.delete(row)
      this.#free.push(row)
    }
  }

  #compare(a: number, b: number): number {
    const { lastFailedAt, ids } = this.columns
    const later = lastFailedAt[a]! - lastFailedAt[b]!
    if (later !== 0) return later
    if (this.#oddIds.size > 0) return comparePlaces(this.placeInList(b), this.placeInList(a))
    for (let word = 0; word < WORDS; word++) {
      const greater = ids[a * WORDS + word]! - ids[b * WORDS + word]!
      if (greater !== 0) return greater
    }
    return 0
  }
}
