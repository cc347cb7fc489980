import type { LetterFilter } from '../../../ports/dead-letters.ts'
import type { LetterPlace } from '../../../ports/letter-query.ts'
import { nextTurn } from '../../../ports/system-clock.ts'
import type { LetterIndex } from './letter-index.ts'
import type { LetterTable } from './letter-table.ts'
import { DELETED, stateNumber } from './sheet.ts'

/** Rows looked at in one turn of the event loop: a millisecond's work. */
const ROWS_PER_TURN = 100_000
const NAMED = ['channel', 'handler', 'type', 'reason', 'category', 'group'] as const

/** Every kind is held against the filter once; the rows then only have numbers to look at. */
export function rowFilter(index: LetterIndex, filter: LetterFilter): (row: number) => boolean {
  const { state, kind, lastFailedAt } = index.columns
  const { after = Number.NEGATIVE_INFINITY, before = Number.POSITIVE_INFINITY } = filter
  const wanted = NAMED.filter(name => filter[name] !== undefined)
  const isOfKind = Uint8Array.from(index.kinds.all, each =>
    wanted.every(name => each[name] === filter[name]) ? 1 : 0,
  )
  const wantedState = filter.state === undefined ? undefined : stateNumber(filter.state)
  return row => {
    const actual = state[row]!
    if (actual === DELETED || isOfKind[kind[row]!] === 0) return false
    if (wantedState !== undefined && actual !== wantedState) return false
    const failedAt = lastFailedAt[row]!
    return failedAt >= after && failedAt < before
  }
}

/**
 * Rows that match, newest failure first, so many at a time. Between two portions others have their turn and the index
 * may change; it goes on behind the place where it was.
 */
export async function* newestFirst(
  table: LetterTable,
  filter: LetterFilter,
  behind: LetterPlace | undefined,
  portion: number,
): AsyncGenerator<readonly number[]> {
  for (let place = behind; ; ) {
    const { index } = table
    const matches = rowFilter(index, filter)
    const rows = index.inOrder
    let at = place === undefined ? rows.length : index.countBefore(place)
    const last = Math.max(0, at - ROWS_PER_TURN)
    const found: number[] = []
    while (at > last && found.length < portion) {
      const row = rows[--at]!
      if (matches(row)) found.push(row)
    }
    if (at < rows.length) place = index.placeInList(rows[at]!)
    if (found.length > 0) yield found
    if (at === 0) return
    await nextTurn()
  }
}

/** Rows that match, in no order. Letters that come and go meanwhile may be among them or not. */
export async function* inAnyOrder(
  table: LetterTable,
  filter: LetterFilter,
): AsyncGenerator<readonly number[]> {
  const { index } = table
  for (let row = 0; row < index.rows; ) {
    const matches = rowFilter(index, filter)
    const end = Math.min(index.rows, row + ROWS_PER_TURN)
    const found: number[] = []
    for (; row < end; row++) if (matches(row)) found.push(row)
    yield found
    await nextTurn()
  }
}
