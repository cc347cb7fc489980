import { LETTER_STATES } from '../../../core/dead-letter/state.ts'
import type { Place } from '../journal/segment-set.ts'
import { Columns } from './columns.ts'
import type { Kinds } from './kinds.ts'
import type { Summary } from './summary.ts'
import { readUuid, WORDS, writeUuid } from './uuid-words.ts'

/** The state of a row that says that a letter was deleted. */
export const DELETED = 0

const STATE_NUMBERS = new Map<string, number>(LETTER_STATES.map((state, index) => [state, index + 1]))

export function stateNumber(state: string): number {
  return STATE_NUMBERS.get(state)!
}

/** What the records of one segment say, row by row in the order of writing. */
export class Sheet {
  readonly columns: Columns
  /** By row: ids that are no UUIDs, and the times of letters that expire. There are few of either. */
  readonly oddIds: Map<number, string>
  readonly expiries: Map<number, number>
  rows: number

  constructor(
    columns = new Columns(),
    rows = 0,
    oddIds = new Map<number, string>(),
    expiries = new Map<number, number>(),
  ) {
    this.columns = columns
    this.rows = rows
    this.oddIds = oddIds
    this.expiries = expiries
  }

  addPut(summary: Summary, kinds: Kinds, place: Place): number {
    const row = this.#add(summary.id)
    const { columns } = this
    columns.state[row] = stateNumber(summary.state)
    columns.firstFailedAt[row] = summary.firstFailedAt
    columns.lastFailedAt[row] = summary.lastFailedAt
    columns.updatedAt[row] = summary.updatedAt
    columns.isReplayed[row] = summary.isReplayed ? 1 : 0
    columns.segment[row] = place.segment
    columns.offset[row] = place.offset
    columns.length[row] = place.length
    columns.kind[row] = kinds.numberOf(summary)
    if (summary.expiresAt !== undefined) this.expiries.set(row, summary.expiresAt)
    return row
  }

  addDelete(id: string): number {
    const row = this.#add(id)
    this.columns.state[row] = DELETED
    return row
  }

  idOf(row: number): string {
    return this.oddIds.get(row) ?? readUuid(this.columns.ids, row * WORDS)
  }

  #add(id: string): number {
    const row = this.rows++
    this.columns.reserve(row)
    const isUuid = writeUuid(id, this.columns.ids, row * WORDS)
    this.columns.isOdd[row] = isUuid ? 0 : 1
    if (!isUuid) this.oddIds.set(row, id)
    return row
  }
}
