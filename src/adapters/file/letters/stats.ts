import { LETTER_STATES } from '../../../core/dead-letter/state.ts'
import type { LetterFilter, LetterStats, TimelineSpan } from '../../../ports/dead-letters.ts'
import { resolveLetterFilter } from '../../../ports/letter-query.ts'
import { resolveTimeline, Timeline } from '../../../ports/letter-timeline.ts'
import type { LetterLog } from './letter-log.ts'
import { READ_AT_ONCE, searchLetters } from './pages.ts'
import { inAnyOrder } from './selection.ts'

export async function countLetters(log: LetterLog, filter: LetterFilter | undefined): Promise<LetterStats> {
  const { search, ...visible } = resolveLetterFilter(filter)
  const { index } = log.table
  const { columns, kinds } = index
  const states = new Counts()
  const ofKinds = new Counts()
  let count = 0
  let oldestAt = Number.POSITIVE_INFINITY
  let newestAt = Number.NEGATIVE_INFINITY
  for await (const rows of matchingRows(log, visible, search)) {
    for (const row of rows) {
      count++
      oldestAt = Math.min(oldestAt, columns.lastFailedAt[row]!)
      newestAt = Math.max(newestAt, columns.lastFailedAt[row]!)
      states.add(columns.state[row]!)
      ofKinds.add(columns.kind[row]!)
    }
  }
  return {
    count,
    oldestAt: count === 0 ? undefined : oldestAt,
    newestAt: count === 0 ? undefined : newestAt,
    byState: states.by(number => LETTER_STATES[number - 1]!),
    byReason: ofKinds.by(number => kinds.all[number]!.reason),
    byChannel: ofKinds.by(number => kinds.all[number]!.channel),
  }
}

export async function timeLetters(
  log: LetterLog,
  filter: LetterFilter,
  span: TimelineSpan,
): Promise<readonly number[]> {
  const wanted = resolveTimeline(filter, span)
  const { search, ...visible } = wanted.filter
  const { columns } = log.table.index
  const timeline = new Timeline(wanted.span)
  for await (const rows of matchingRows(log, visible, search))
    for (const row of rows) timeline.add(columns.lastFailedAt[row]!)
  return timeline.counts
}

async function* matchingRows(
  log: LetterLog,
  visible: LetterFilter,
  search: string | undefined,
): AsyncGenerator<readonly number[]> {
  for await (const rows of inAnyOrder(log.table, visible))
    yield search === undefined ? rows : await rowsTelling(log, rows, search)
}

async function rowsTelling(log: LetterLog, rows: readonly number[], search: string): Promise<number[]> {
  const { index } = log.table
  const telling: number[] = []
  for (let start = 0; start < rows.length; start += READ_AT_ONCE) {
    const ids = rows.slice(start, start + READ_AT_ONCE).map(row => index.idOf(row))
    for (const { id } of await searchLetters(log, ids, search)) {
      const row = index.find(id)
      if (row !== undefined) telling.push(row)
    }
  }
  return telling
}

class Counts {
  readonly #counts = new Map<number, number>()

  add(number: number): void {
    this.#counts.set(number, (this.#counts.get(number) ?? 0) + 1)
  }

  /** Added up by name. A name may be one that an object's prototype uses; fromEntries makes own properties only. */
  by(nameOf: (number: number) => string): Record<string, number> {
    const sums = new Map<string, number>()
    for (const [number, count] of this.#counts) {
      sums.set(nameOf(number), (sums.get(nameOf(number)) ?? 0) + count)
    }
    return Object.fromEntries(sums)
  }
}
