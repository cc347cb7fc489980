import {
  placeOf,
  type ResolvedLetterFilter,
  type ResolvedLetterQuery,
  writeCursor,
} from '../../../adapter-kit/query/letter-query.ts'
import { type resolveTimeline, Timeline } from '../../../adapter-kit/query/letter-timeline.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LetterPage, LetterStats } from '../../../ports/dead-letters.ts'
import { numberOf, pairsOf, textOf } from '../connection/replies.ts'
import { type ScanFilter, scanFilterOf } from './facts.ts'
import type { LetterRecords } from './letter-records.ts'
import { countStretches, type Slice, scan, totals } from './scripts.ts'

/** Letters that one script looks at: about a millisecond in which the server does nothing else. */
const LOOKED_AT_ONCE = 1_000
/** Texts of letters come in smaller portions: they may be large. */
const READ_AT_ONCE = 200

export async function listLetters(
  records: LetterRecords,
  { filter, limit, behind }: ResolvedLetterQuery,
): Promise<LetterPage> {
  const letters: DeadLetter[] = []
  const start = behind && { score: String(behind.lastFailedAt), id: behind.id }
  const most = () => Math.min(READ_AT_ONCE, limit + 1 - letters.length)
  for await (const bodies of slices(records, 'bodies', scanFilterOf(filter), start, most)) {
    letters.push(...bodies.map(body => records.decode(textOf(body))))
    if (letters.length > limit) break
  }
  const shown = letters.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = letters.length > limit && last !== undefined
  return { letters: shown, cursor: hasMore ? writeCursor(placeOf(last), filter) : undefined }
}

export async function countLetters(
  records: LetterRecords,
  filter: ResolvedLetterFilter,
): Promise<LetterStats> {
  const isEverything = Object.values(filter).every(each => each === undefined)
  const tally = isEverything ? await wholeTally(records) : await scannedTally(records, filter)
  return tally.stats()
}

export async function timeLetters(
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

/** One index answers it without looking at any letter. The first and the last bucket may be narrowed by the filter. */
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
  return records.runSwept(countStretches, [facet, value, ...bounds.flat()])
}

type Place = NonNullable<Slice['next']>

/** What matches, slice by slice, so that the server does something else in between. */
async function* slices(
  records: LetterRecords,
  take: 'bodies' | 'counts' | 'times',
  { facet, value, after, before, search, others }: ScanFilter,
  start?: Place | undefined,
  most: () => number = () => LOOKED_AT_ONCE,
): AsyncGenerator<readonly unknown[]> {
  const filter = [facet, value, after, before]
  for (let place = start, isMore = true; isMore; ) {
    const from = [place?.score ?? '', place?.id ?? '', String(LOOKED_AT_ONCE), String(most())]
    const { found, next } = await records.runSwept(scan, [take, ...filter, ...from, search, ...others])
    yield found
    place = next
    isMore = next !== undefined
  }
}

async function wholeTally(records: LetterRecords): Promise<Tally> {
  const { oldestAt, newestAt, counts } = await records.runSwept(totals, [])
  const tally = new Tally()
  for (const [field, n] of counts) tally.add(field.slice(0, 1), field.slice(2), n)
  if (oldestAt !== undefined && newestAt !== undefined) tally.see(oldestAt, newestAt)
  return tally
}

async function scannedTally(records: LetterRecords, filter: ResolvedLetterFilter): Promise<Tally> {
  const tally = new Tally()
  for await (const [oldest, newest, ...counts] of slices(records, 'counts', scanFilterOf(filter)))
    if (oldest !== undefined) {
      tally.see(numberOf(oldest), numberOf(newest))
      for (const [field, n] of pairsOf(counts)) tally.add(field.slice(0, 1), field.slice(2), numberOf(n))
    }
  return tally
}

class Tally {
  readonly #counts = new Map<string, Map<string, number>>()
  #oldestAt = Number.POSITIVE_INFINITY
  #newestAt = Number.NEGATIVE_INFINITY
  #count = 0

  /** Every letter has one state, so those are what is counted. */
  add(facet: string, value: string, n: number): void {
    if (facet === 's') this.#count += n
    const counts = this.#counts.get(facet) ?? new Map<string, number>()
    this.#counts.set(facet, counts.set(value, (counts.get(value) ?? 0) + n))
  }

  see(oldest: number, newest: number): void {
    this.#oldestAt = Math.min(this.#oldestAt, oldest)
    this.#newestAt = Math.max(this.#newestAt, newest)
  }

  stats(): LetterStats {
    const isEmpty = this.#count === 0
    return {
      count: this.#count,
      oldestAt: isEmpty ? undefined : this.#oldestAt,
      newestAt: isEmpty ? undefined : this.#newestAt,
      byState: this.#by('s'),
      byReason: this.#by('r'),
      byChannel: this.#by('c'),
    }
  }

  #by(facet: string): Record<string, number> {
    return Object.fromEntries(this.#counts.get(facet) ?? [])
  }
}
