import {
  compareLetters,
  compareValues,
  isByTime,
  type LetterOrder,
  type LetterPosition,
} from '../../../adapter-kit/query/letter-order.ts'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import type { LetterFilter } from '../../../ports/dead-letters.ts'
import type { Kind, LetterIndex, LetterRows } from './record.ts'

/** The rows that are checked in one turn of the event loop. They take about a millisecond. */
const ROWS_PER_TURN = 100_000
const NAMED = ['channel', 'handler', 'type', 'reason', 'category', 'group', 'state'] as const

/** Some rows of one segment. */
export interface MatchingRows {
  readonly rows: LetterRows
  readonly found: readonly number[]
}

/**
 * Yields the matching rows in the order of writing, segment by segment. Letters that change meanwhile may be included or
 * not.
 */
export async function* matching(index: LetterIndex, filter: LetterFilter): AsyncGenerator<MatchingRows> {
  for await (const rows of inTurns(index.segments)) yield { rows, found: matchingIn(rows, filter) }
}

/** Yields the matching letters in portions, in the order of the list. */
export async function* inOrder(
  index: LetterIndex,
  filter: LetterFilter,
  order: LetterOrder,
  behind: LetterPosition | undefined,
  portion: number,
): AsyncGenerator<readonly LetterPosition[]> {
  for (let place = behind; ; ) {
    const found = await first(index, filter, order, place, portion)
    if (found.length > 0) yield found
    if (found.length < portion) return
    place = found.at(-1)
  }
}

/**
 * Reads the segments in the order of their failures, and skips those whose letters all come after the letters that are already found.
 * Only a list by last failure can skip: the other values are spread over all segments.
 */
async function first(
  index: LetterIndex,
  filter: LetterFilter,
  order: LetterOrder,
  behind: LetterPosition | undefined,
  portion: number,
): Promise<LetterPosition[]> {
  const { sort, isDescending } = order
  const newest = ({ newestAt }: LetterRows) => newestAt
  const oldest = ({ oldestAt }: LetterRows) => oldestAt
  const [near, far, sign] = isDescending ? [newest, oldest, -1] : [oldest, newest, 1]
  const isPassed = (rows: LetterRows) =>
    sort === 'lastFailed' && behind !== undefined && sign * (far(rows) - behind.lastFailedAt) < 0
  const isTooLate = (rows: LetterRows, last: LetterPosition) =>
    sort === 'lastFailed' && sign * (near(rows) - last.lastFailedAt) > 0
  const segments = index.segments.filter(rows => !isPassed(rows)).sort((a, b) => sign * (near(a) - near(b)))
  let found: LetterPosition[] = []
  for await (const rows of inTurns(segments)) {
    const last = found.length < portion ? undefined : found.at(-1)
    if (last !== undefined && isTooLate(rows, last)) break
    found = [...found, ...firstIn(rows, filter, order, behind, portion, last)]
      .sort((a, b) => compareLetters(a, b, order))
      // A letter that was written again meanwhile is found twice, at neighbouring positions.
      .filter(({ id }, at, all) => id !== all[at - 1]?.id)
      .slice(0, portion)
  }
  return found
}

/**
 * Starts at the end of the segment, where the newest letters mostly are. The others are then skipped by their value alone: reading
 * an id costs more than all else.
 */
function firstIn(
  rows: LetterRows,
  filter: LetterFilter,
  order: LetterOrder,
  behind: LetterPosition | undefined,
  portion: number,
  until: LetterPosition | undefined,
): LetterPosition[] {
  const matches = rowFilter(rows, filter)
  if (matches === undefined) return []
  const sortValue = rowValue(rows, order)
  const compareRow = (row: number, to: LetterPosition): number => {
    const byValue = compareValues(sortValue(row), to.value ?? to.lastFailedAt)
    if (byValue !== 0) return order.isDescending ? -byValue : byValue
    return isByTime(order) ? 0 : to.lastFailedAt - rows.lastFailedAt(row)
  }
  let last = until
  let found: LetterPosition[] = []
  for (let row = rows.count - 1; row >= 0; row--) {
    if (!matches(row)) continue
    if (last !== undefined && compareRow(row, last) > 0) continue
    if (behind !== undefined && compareRow(row, behind) < 0) continue
    const place = { lastFailedAt: rows.lastFailedAt(row), id: rows.idOf(row) }
    const position = order.sort === 'lastFailed' ? place : { ...place, value: sortValue(row) }
    if (behind !== undefined && compareLetters(position, behind, order) <= 0) continue
    found.push(position)
    if (found.length < 2 * portion) continue
    found = firstOf(found, portion, order)
    last = found.at(-1)!
  }
  return firstOf(found, portion, order)
}

/** What the list is sorted by, of a row. */
function rowValue(rows: LetterRows, { sort }: LetterOrder): (row: number) => string | number {
  if (sort === 'lastFailed') return row => rows.lastFailedAt(row)
  if (sort === 'firstFailed') return row => rows.firstFailedAt(row)
  return row => rows.kinds[rows.kindNumber(row)]![sort]
}

function firstOf(places: LetterPosition[], count: number, order: LetterOrder): LetterPosition[] {
  return places.sort((a, b) => compareLetters(a, b, order)).slice(0, count)
}

function matchingIn(rows: LetterRows, filter: LetterFilter): number[] {
  const matches = rowFilter(rows, filter)
  const found: number[] = []
  if (matches === undefined) return found
  for (let row = 0; row < rows.count; row++) if (matches(row)) found.push(row)
  return found
}

/**
 * Compares every kind with the filter once, so that rows need only number comparisons. Returns undefined if no kind
 * matches.
 */
function rowFilter(rows: LetterRows, filter: LetterFilter): ((row: number) => boolean) | undefined {
  const { after = Number.NEGATIVE_INFINITY, before = Number.POSITIVE_INFINITY } = filter
  const wanted = NAMED.filter(name => filter[name] !== undefined)
  const isOfKind = rows.kinds.map(kind => wanted.every(name => kind[name] === filter[name]))
  if (!isOfKind.includes(true) || rows.newestAt < after || rows.oldestAt >= before) return undefined
  return row => {
    if (!rows.isLive(row) || !isOfKind[rows.kindNumber(row)]) return false
    const failedAt = rows.lastFailedAt(row)
    return failedAt >= after && failedAt < before
  }
}

/** Pauses after a number of rows, so that other work can run. */
async function* inTurns(segments: readonly LetterRows[]): AsyncGenerator<LetterRows> {
  let looked = 0
  for (const rows of segments) {
    if (looked > ROWS_PER_TURN) {
      await yieldToEventLoop()
      looked = 0
    }
    yield rows
    looked += rows.count
  }
}

/** The counts of letters of one kind in one segment. */
interface KindCounts {
  readonly kind: Kind
  readonly count: number
  /** The earliest failure of all their cycles. */
  readonly firstFailedAt: number
  /** The earliest and the latest of their last failures, and the id of the latest letter. */
  readonly oldestAt: number
  readonly newestAt: number
  readonly newest: string
}

/** Counts letters by kind. A segment has few kinds, so that each letter needs only number operations. */
export function byKind({ rows, found }: MatchingRows): KindCounts[] {
  const all = rows.kinds.map(() => ({
    count: 0,
    firstFailedAt: Number.POSITIVE_INFINITY,
    oldestAt: Number.POSITIVE_INFINITY,
    newestAt: Number.NEGATIVE_INFINITY,
    newestRow: 0,
  }))
  for (const row of found) {
    const of = all[rows.kindNumber(row)]!
    const failedAt = rows.lastFailedAt(row)
    of.count++
    of.firstFailedAt = Math.min(of.firstFailedAt, rows.firstFailedAt(row))
    of.oldestAt = Math.min(of.oldestAt, failedAt)
    if (failedAt < of.newestAt) continue
    of.newestAt = failedAt
    of.newestRow = row
  }
  return all.flatMap(({ newestRow, ...of }, number) =>
    of.count === 0 ? [] : { ...of, kind: rows.kinds[number]!, newest: rows.idOf(newestRow) },
  )
}
