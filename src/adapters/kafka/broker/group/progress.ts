import { topicTag } from '../topics/topic-tag.ts'

/**
 * How far a handler is with a partition. It is stored with the committed offset: the offset is `position`, and the rest is
 * its metadata. Kafka keeps at most 4096 bytes of metadata.
 */
export interface Progress {
  /** Every record before this offset is settled. */
  readonly position: number
  /** Ranges of settled records from `position` on, ascending: first offset and the offset after the last. */
  readonly settled: readonly (readonly [from: number, to: number])[]
  /** No attempt at or beyond this offset has begun. */
  readonly upTo: number
  /** Records before this offset that are not settled were open when a consumer died. They run alone. */
  readonly suspectsBelow: number
  /** How often a suspect has crashed its consumer, by offset. */
  readonly crashes: ReadonlyMap<number, number>
  /** The suspect that runs alone; undefined if none does. */
  readonly running: number | undefined
}

/** The progress of a handler that has read nothing from this offset on. */
export function progressAt(position: number): Progress {
  return {
    position,
    settled: [],
    upTo: position,
    suspectsBelow: position,
    crashes: new Map(),
    running: undefined,
  }
}

const VERSION = '1'
/** Less than the limit of Kafka, because an administrator can lower that. */
const MAX_BYTES = 3_500

/**
 * The metadata of a commit as text: numbers in base 36, counted from `position`. Of the settled ranges as many are written
 * as there is room for. The others are delivered again after a crash, and never lost.
 */
export function encodeProgress(progress: Progress, topicId: string): string {
  const { position, settled, upTo, suspectsBelow, crashes, running } = progress
  const fromHere = (offset: number) => (offset - position).toString(36)
  const counts = [...crashes].map(([offset, count]) => `${fromHere(offset)}.${count.toString(36)}`)
  const head = [
    VERSION,
    topicTag(topicId),
    upTo > position ? fromHere(upTo) : '',
    suspectsBelow > position ? fromHere(suspectsBelow) : '',
    running === undefined ? '' : fromHere(running),
    counts.slice(0, MAX_CRASHES).join(','),
  ].join(';')
  const ranges: string[] = []
  let bytes = head.length
  let last = position
  for (const [from, to] of settled) {
    const range = `${(from - last).toString(36)}.${(to - from).toString(36)}`
    bytes += range.length + 1
    if (bytes > MAX_BYTES) break
    ranges.push(range)
    last = to
  }
  return `${head};${ranges.join(',')}`
}

const MAX_CRASHES = 100

/**
 * Reads the progress of a commit. Metadata of other programs is ignored. Undefined if the commit is about an earlier topic of
 * the same name, whose offsets mean nothing in this one.
 */
export function decodeProgress(
  position: number,
  metadata: string | null,
  topicId: string,
): Progress | undefined {
  const [version, tag, upTo = '', suspectsBelow = '', running = '', counts = '', ranges = ''] = (
    metadata ?? ''
  ).split(';')
  if (version !== VERSION) return progressAt(position)
  if (tag !== topicTag(topicId)) return undefined
  const settled: (readonly [number, number])[] = []
  let last = position
  for (const [gap, length] of pairs(ranges)) {
    const from = last + gap
    last = from + length
    settled.push([from, last])
  }
  const [highest = position, suspects = position, alone] = [upTo, suspectsBelow, running].map(text =>
    text === '' ? undefined : position + numberOf(text),
  )
  const crashes = new Map(pairs(counts).map(([offset, count]) => [position + offset, count]))
  const numbers = [highest, suspects, alone ?? position, last, ...crashes.keys(), ...crashes.values()]
  // The text is not as it was written. The settled records are unknown then, so that nothing is skipped.
  const isAscending = settled.every(
    ([from, to], at) => from >= (settled[at - 1]?.[1] ?? position) && to >= from,
  )
  if (!isAscending || !numbers.every(Number.isSafeInteger)) return progressAt(position)
  return { position, settled, upTo: highest, suspectsBelow: suspects, crashes, running: alone }
}

function pairs(text: string): [number, number][] {
  if (text === '') return []
  return text.split(',').map(pair => {
    const [first = '', second = ''] = pair.split('.')
    return [numberOf(first), numberOf(second)]
  })
}

const BASE_36 = /^-?[0-9a-z]+$/

/** A number in base 36; NaN for every other text. */
function numberOf(text: string): number {
  return BASE_36.test(text) ? Number.parseInt(text, 36) : Number.NaN
}
