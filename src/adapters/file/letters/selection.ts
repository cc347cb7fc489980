import { compareLetters, type LetterPosition } from '../../../adapter-kit/query/letter-query.ts'
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

/** Yields the newest matching letters in portions, newest failure first. */
export async function* newestFirst(
  index: LetterIndex,
  filter: LetterFilter,
  behind: LetterPosition | undefined,
  portion: number,
): AsyncGenerator<readonly LetterPosition[]> {
  for (let place = behind; ; ) {
    const found = await newest(index, filter, place, portion)
    if (found.length > 0) yield found
    if (found.length < portion) return
    place = found.at(-1)
  }
}

/** Reads the newest segments first, and skips segments whose letters all failed before those that are already found. */
async function newest(
  index: LetterIndex,
  filter: LetterFilter,
  behind: LetterPosition | undefined,
  portion: number,
): Promise<LetterPosition[]> {
  const { after = Number.NEGATIVE_INFINITY } = filter
  const mayMatch = ({ oldestAt }: LetterRows) => behind === undefined || oldestAt <= behind.lastFailedAt
  const segments = index.segments.filter(mayMatch).sort((a, b) => b.newestAt - a.newestAt)
  let found: LetterPosition[] = []
  for await (const rows of inTurns(segments)) {
    const earliest = found.length < portion ? after : Math.max(after, found.at(-1)!.lastFailedAt)
    if (rows.newestAt < earliest) break
    const here = newestIn(rows, { ...filter, after: earliest }, behind, portion)
    found = [...found, ...here]
      .sort(compareLetters)
      // A letter that was written again meanwhile is found twice, at neighbouring positions.
      .filter(({ id }, at, all) => id !== all[at - 1]?.id)
      .slice(0, portion)
  }
  return found
}

/**
 * Starts at the end of the segment, where the newest letters mostly are. The others are then skipped by their time alone.
 */
function newestIn(
  rows: LetterRows,
  filter: LetterFilter,
  behind: LetterPosition | undefined,
  portion: number,
): LetterPosition[] {
  const matches = rowFilter(rows, filter)
  if (matches === undefined) return []
  const latest = behind?.lastFailedAt ?? Number.POSITIVE_INFINITY
  let earliest = Number.NEGATIVE_INFINITY
  let found: LetterPosition[] = []
  for (let row = rows.count - 1; row >= 0; row--) {
    const lastFailedAt = rows.lastFailedAt(row)
    if (lastFailedAt < earliest || lastFailedAt > latest || !matches(row)) continue
    const place = { lastFailedAt, id: rows.idOf(row) }
    if (behind !== undefined && compareLetters(place, behind) <= 0) continue
    found.push(place)
    if (found.length < 2 * portion) continue
    found = firstOf(found, portion)
    earliest = found.at(-1)!.lastFailedAt
  }
  return firstOf(found, portion)
}

function firstOf(places: LetterPosition[], count: number): LetterPosition[] {
  return places.sort(compareLetters).slice(0, count)
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
