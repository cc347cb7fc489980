import { sumOf } from '../../../adapter-kit/expiry.ts'
import {
  letterCursor,
  letterPosition,
  type ResolvedLetterFilter,
  type ResolvedLetterQuery,
} from '../../../adapter-kit/query/letter-query.ts'
import { HandlerCounter } from '../../../adapter-kit/query/letter-stats.ts'
import { type resolveTimeline, Timeline } from '../../../adapter-kit/query/letter-timeline.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LetterState } from '../../../core/dead-letter/state.ts'
import type { HandlerCount, LetterPage, LetterStats, SeenLetter } from '../../../ports/dead-letters.ts'
import { numberOf, pairsOf, textOf } from '../connection/replies.ts'
import { type ScanFilter, scanFilterOf } from './facts.ts'
import type { LetterRecords } from './letter-records.ts'
import { countIntervals, type Slice, scan, totals } from './scripts.ts'

/** The letters that one script checks. They take about a millisecond, in which the server does nothing else. */
const SCANNED_AT_ONCE = 1_000
/** Texts of letters come in smaller portions: they may be large. */
const READ_AT_ONCE = 200

export async function listLetters(
  records: LetterRecords,
  { filter, limit, startAfter }: ResolvedLetterQuery,
): Promise<LetterPage> {
  const letters: DeadLetter[] = []
  const start = startAfter && { score: String(startAfter.lastFailedAt), id: startAfter.id }
  const most = () => Math.min(READ_AT_ONCE, limit + 1 - letters.length)
  for await (const bodies of slices(records, 'bodies', scanFilterOf(filter), start, most)) {
    letters.push(...bodies.map(body => records.decode(textOf(body))))
    if (letters.length > limit) break
  }
  const { shown, cursor } = pageOf(letters, limit, last => letterCursor(letterPosition(last), filter))
  return { letters: shown, cursor }
}

export async function countLetters(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
): Promise<LetterStats> {
  const isEverything = Object.values(filter).every(each => each === undefined)
  const counter = new StatsCounter()
  if (isEverything) counter.add(await records.runAfterExpiry(totals, []))
  else for await (const found of slices(records, 'counts', scanFilterOf(filter))) counter.add(found)
  return counter.stats()
}

export async function countByHandler(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
): Promise<readonly HandlerCount[]> {
  const counter = new HandlerCounter()
  for await (const found of slices(records, 'handlers', scanFilterOf(filter)))
    for (const [pair, count] of pairsOf(found)) {
      const [channel, handler] = JSON.parse(pair) as [string, string]
      counter.add(channel, handler, numberOf(count))
    }
  return counter.counts
}

export async function countOverTime(
  records: LetterRecords,
  { filter, span }: ReturnType<typeof resolveTimeline>,
): Promise<readonly number[]> {
  const wanted = scanFilterOf(filter)
  if (wanted.others.length === 0 && wanted.search === '') return countBuckets(records, wanted, span)
  const timeline = new Timeline(span)
  for await (const times of slices(records, 'times', wanted))
    for (const at of times) timeline.add(numberOf(at))
  return timeline.counts
}

/** One index answers this without reading a letter. The filter may narrow the first and the last bucket. */
async function countBuckets(
  records: LetterRecords,
  { facet, value, after, before }: ScanFilter,
  { from, bucketMs, buckets }: ReturnType<typeof resolveTimeline>['span'],
): Promise<readonly number[]> {
  const bounds = Array.from({ length: buckets }, (_, bucket) => {
    const start = from + bucket * bucketMs
    return [
      String(Math.max(start, Number(after))),
      String(Math.min(from + (bucket + 1) * bucketMs, Number(before))),
    ]
  })
  return records.runAfterExpiry(countIntervals, [facet, value, ...bounds.flat()])
}

export interface VersionPortion {
  readonly found: readonly SeenLetter[]
  /** Undefined after the last letter. */
  readonly next: ScanPosition | undefined
}

/** The versions of the letters that one script looks at, from a position on. */
export async function readVersions(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
  from: ScanPosition | undefined,
): Promise<VersionPortion> {
  const { found, next } = await scanSlice(
    records,
    'versions',
    scanFilterOf(filter),
    from,
    3 * SCANNED_AT_ONCE,
  )
  const versions: SeenLetter[] = []
  for (let at = 0; at < found.length; at += 3) {
    const [id, state, lastFailedAt] = [textOf(found[at]), textOf(found[at + 1]), numberOf(found[at + 2])]
    versions.push({ id, state: state as LetterState, lastFailedAt })
  }
  return { found: versions, next }
}

export type ScanPosition = NonNullable<Slice['next']>

/** Yields the matches in slices, so that the server can do other work in between. */
async function* slices(
  records: LetterRecords,
  take: 'bodies' | 'counts' | 'handlers' | 'times',
  filter: ScanFilter,
  start?: ScanPosition | undefined,
  most: () => number = () => SCANNED_AT_ONCE,
): AsyncGenerator<readonly unknown[]> {
  for (let position = start, isMore = true; isMore; ) {
    const { found, next } = await scanSlice(records, take, filter, position, most())
    yield found
    position = next
    isMore = next !== undefined
  }
}

function scanSlice(
  records: LetterRecords,
  take: 'bodies' | 'counts' | 'handlers' | 'times' | 'versions',
  { facet, value, after, before, search, others }: ScanFilter,
  position: ScanPosition | undefined,
  most: number,
): Promise<Slice> {
  const from = [position?.score ?? '', position?.id ?? '', String(SCANNED_AT_ONCE), String(most)]
  return records.runAfterExpiry(scan, [take, facet, value, after, before, ...from, search, ...others])
}

/** Adds up what `totals` and `scan` answer: the oldest time, the newest, then fields such as `s:dead` with their counts. */
class StatsCounter {
  readonly #counts = new Map<string, number>()
  #oldestAt: number | undefined
  #newestAt: number | undefined

  add([oldest, newest, ...counts]: readonly unknown[]): void {
    if (oldest === undefined) return
    this.#oldestAt = Math.min(this.#oldestAt ?? numberOf(oldest), numberOf(oldest))
    this.#newestAt = Math.max(this.#newestAt ?? numberOf(newest), numberOf(newest))
    for (const [field, count] of pairsOf(counts))
      this.#counts.set(field, (this.#counts.get(field) ?? 0) + numberOf(count))
  }

  stats(): LetterStats {
    const by = (facet: string): Record<string, number> => {
      const counts = [...this.#counts].filter(([field]) => field.startsWith(facet))
      return Object.fromEntries(counts.map(([field, count]) => [field.slice(facet.length), count]))
    }
    const byState = by('s:')
    return {
      count: sumOf(byState),
      oldestAt: this.#oldestAt,
      newestAt: this.#newestAt,
      byState,
      byReason: by('r:'),
      byChannel: by('c:'),
    }
  }
}
