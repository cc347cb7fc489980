// The orders of a list of letters, and the places in them. A place is a key and never a count of letters, so that the page behind it costs
// the same at any depth, and letters that come and go between two pages shift nothing.
import { groupingOf } from '../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { LetterQuery, LetterSort } from '../../ports/dead-letters.ts'
import { decodeTimedPosition, encodeTimedPosition, isStorableText } from './cursor.ts'

/** An order with its direction. */
export interface LetterOrder {
  readonly sort: LetterSort
  readonly isDescending: boolean
}

/** The order of a list unless the query asks for another one. */
export const NEWEST_FIRST: LetterOrder = Object.freeze({ sort: 'lastFailed', isDescending: true })

/**
 * Where a letter stands in a list. The time is that of its last failure. `value` is what the list is sorted by; it is absent where
 * that is the last failure.
 *
 * Letters sorted by a time follow each other by that time and then by id, and the ascending order is exactly the reverse. Letters sorted by
 * any other value follow each other by that value. Among letters with the same value the newest failure is first, in both directions.
 */
export interface LetterPosition {
  readonly lastFailedAt: number
  readonly id: string
  readonly value?: string | number | undefined
}

const VALUES: {
  readonly [S in Exclude<LetterSort, 'lastFailed'>]: (letter: DeadLetter) => string | number
} = {
  firstFailed: firstFailedAt,
  attempts: ({ cycle }) => cycle.attemptCount,
  channel: ({ channel }) => channel,
  handler: ({ handler }) => handler,
  type: ({ event }) => event.type,
  reason: ({ cycle }) => cycle.reason,
  category: ({ cycle }) => cycle.category,
  state: ({ state }) => state,
  group: letter => groupingOf(letter).id,
}

/** The first failure of all cycles of a letter. */
export function firstFailedAt({ cycle, endedCycles }: DeadLetter): number {
  return endedCycles[0]?.firstFailedAt ?? cycle.firstFailedAt
}

/** Whether letters are sorted by a time. Then nothing but the id decides between letters of the same time. */
export function isByTime({ sort }: LetterOrder): boolean {
  return sort === 'lastFailed' || sort === 'firstFailed'
}

/** The order that a query asks for. Times and attempts begin with the greatest, texts with the least. */
export function orderOf({
  sort = NEWEST_FIRST.sort,
  order,
}: Pick<LetterQuery, 'sort' | 'order'>): LetterOrder {
  const isNumber = sort === 'lastFailed' || sort === 'firstFailed' || sort === 'attempts'
  return { sort, isDescending: order === undefined ? isNumber : order === 'desc' }
}

/** The place of a letter in a list. */
export function letterPosition(letter: DeadLetter, { sort }: LetterOrder = NEWEST_FIRST): LetterPosition {
  const place = { lastFailedAt: letter.cycle.lastFailedAt, id: letter.id }
  return sort === 'lastFailed' ? place : { ...place, value: VALUES[sort](letter) }
}

/** Below zero when `a` comes first. */
export function compareLetters(
  a: LetterPosition,
  b: LetterPosition,
  order: LetterOrder = NEWEST_FIRST,
): number {
  const byValue = compareValues(a.value ?? a.lastFailedAt, b.value ?? b.lastFailedAt)
  if (byValue !== 0) return order.isDescending ? -byValue : byValue
  if (isByTime(order)) return order.isDescending ? compareTexts(b.id, a.id) : compareTexts(a.id, b.id)
  return b.lastFailedAt - a.lastFailedAt || compareTexts(b.id, a.id)
}

/** Numbers by size, texts as stores compare them. */
export function compareValues(a: string | number, b: string | number): number {
  return typeof a === 'number' || typeof b === 'number' ? Number(a) - Number(b) : compareTexts(a, b)
}

/** Stores compare texts byte by byte in UTF-8. That differs from the order of JavaScript only beside surrogate pairs. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  if (HAS_SURROGATE.test(a) || HAS_SURROGATE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : 1
}

const HAS_SURROGATE = /[\ud800-\udfff]/

/** Less and greater than every id. */
const FIRST_ID = '\u0001'
const LAST_ID = '\u{10ffff}'

/** The place just before the letters of a time, in a list by time: a list that begins there begins with that time. */
export function positionAt(at: number, { sort, isDescending }: LetterOrder): LetterPosition {
  const id = isDescending ? LAST_ID : FIRST_ID
  return sort === 'lastFailed' ? { lastFailedAt: at, id } : { lastFailedAt: at, id, value: at }
}

/** A place as a cursor has it. */
export function writePosition({ lastFailedAt, id, value }: LetterPosition): string {
  const timed = encodeTimedPosition(lastFailedAt, id)
  return value === undefined ? timed : `${Buffer.from(JSON.stringify(value)).toString('base64url')}.${timed}`
}

/** Reads a place of this order. Undefined if the text is not one. */
export function readPosition(text: string, { sort }: LetterOrder): LetterPosition | undefined {
  if (sort === 'lastFailed') return timedPosition(text)
  const [, encoded, rest = ''] = /^([\w-]+)\.(.+)$/s.exec(text) ?? []
  const value = encoded === undefined ? undefined : readValue(encoded)
  const isNumber = sort === 'firstFailed' || sort === 'attempts'
  const isValid = isNumber ? Number.isFinite(value) : typeof value === 'string' && isStorableText(value)
  const place = timedPosition(rest)
  return isValid && place !== undefined ? { ...place, value: value as string | number } : undefined
}

function timedPosition(text: string): LetterPosition | undefined {
  const place = decodeTimedPosition(text)
  return place && { lastFailedAt: place.at, id: place.id }
}

function readValue(encoded: string): unknown {
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString())
  } catch {
    return undefined
  }
}
