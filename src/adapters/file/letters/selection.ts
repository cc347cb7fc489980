import type { LetterFilter } from '../../../ports/dead-letters.ts'
import { comparePlaces, type LetterPlace } from '../../../ports/letter-query.ts'
import { nextTurn } from '../../../ports/system-clock.ts'
import type { LetterIndex, LetterRows } from './facts.ts'

/** Rows looked at in one turn of the event loop: a millisecond's work. */
const ROWS_PER_TURN = 100_000
const NAMED = ['channel', 'handler', 'type', 'reason', 'category', 'group', 'state'] as const

/** Some rows of one segment. */
export interface Found {
  readonly rows: LetterRows
  readonly found: readonly number[]
}

/**
 * Rows that match, in the order of writing, segment by segment. Letters that come and go meanwhile may be among them or
 * not.
 */
export async function* matching(index: LetterIndex, filter: LetterFilter): AsyncGenerator<Found> {
  for await (const rows of inTurns(index.segments)) yield { rows, found: matchingIn(rows, filter) }
}

/** The newest letters that match, so many at a time, newest failure first. */
export async function* newestFirst(
  index: LetterIndex,
  filter: LetterFilter,
  behind: LetterPlace | undefined,
  portion: number,
): AsyncGenerator<readonly LetterPlace[]> {
  for (let place = behind; ; ) {
    const found = await newest(index, filter, place, portion)
    if (found.length > 0) yield found
    if (found.length < portion) return
    place = found.at(-1)
  }
}

/** Looks at the newest segments first, and at none whose letters all failed before those that were found already. */
async function newest(
  index: LetterIndex,
  filter: LetterFilter,
  behind: LetterPlace | undefined,
  portion: number,
): Promise<LetterPlace[]> {
  const { after = Number.NEGATIVE_INFINITY } = filter
  const mayMatch = ({ oldestAt }: LetterRows) => behind === undefined || oldestAt <= behind.lastFailedAt
  const segments = index.segments.filter(mayMatch).sort((a, b) => b.newestAt - a.newestAt)
  let found: LetterPlace[] = []
  for await (const rows of inTurns(segments)) {
    const earliest = found.length < portion ? after : Math.max(after, found.at(-1)!.lastFailedAt)
    if (rows.newestAt < earliest) break
    const here = newestIn(rows, matchingIn(rows, { ...filter, after: earliest }), behind, portion)
    found = [...found, ...here]
      .sort(comparePlaces)
      // One that was written again meanwhile is found twice, in the same place of the order.
      .filter(({ id }, at, all) => id !== all[at - 1]?.id)
      .slice(0, portion)
  }
  return found
}

/** The first places of those rows. Most rows are passed over by their time alone. */
function newestIn(
  rows: LetterRows,
  found: readonly number[],
  behind: LetterPlace | undefined,
  portion: number,
): LetterPlace[] {
  const isBehind = (place: LetterPlace) => behind === undefined || comparePlaces(place, behind) > 0
  const latest = behind?.lastFailedAt ?? Number.POSITIVE_INFINITY
  const places: LetterPlace[] = []
  const inOrder = found
    .filter(row => rows.lastFailedAt(row) <= latest)
    .sort((a, b) => rows.lastFailedAt(b) - rows.lastFailedAt(a))
  for (const row of inOrder) {
    const place = { lastFailedAt: rows.lastFailedAt(row), id: rows.idOf(row) }
    // All of the same time are taken, because their ids decide which of them come first.
    if (places.length >= portion && place.lastFailedAt < places[portion - 1]!.lastFailedAt) break
    if (isBehind(place)) places.push(place)
  }
  return places
}

/** Every kind is held against the filter once; the rows then only have numbers to look at. */
function matchingIn(rows: LetterRows, filter: LetterFilter): number[] {
  const { after = Number.NEGATIVE_INFINITY, before = Number.POSITIVE_INFINITY } = filter
  const wanted = NAMED.filter(name => filter[name] !== undefined)
  const isOfKind = rows.kinds.map(kind => wanted.every(name => kind[name] === filter[name]))
  const found: number[] = []
  if (!isOfKind.includes(true) || rows.newestAt < after || rows.oldestAt >= before) return found
  for (let row = 0; row < rows.count; row++) {
    if (!rows.isLive(row) || !isOfKind[rows.kindNumber(row)]) continue
    const failedAt = rows.lastFailedAt(row)
    if (failedAt >= after && failedAt < before) found.push(row)
  }
  return found
}

/** Others have their turn after so many rows. */
async function* inTurns(segments: readonly LetterRows[]): AsyncGenerator<LetterRows> {
  let looked = 0
  for (const rows of segments) {
    if (looked > ROWS_PER_TURN) {
      await nextTurn()
      looked = 0
    }
    yield rows
    looked += rows.count
  }
}
