// What every dead-letter store means by a query, so that one page of letters is the same whichever store it is from.
import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Reason } from '../core/dead-letter/reason.ts'
import { LETTER_STATES } from '../core/dead-letter/state.ts'
import { CATEGORIES } from '../core/failure/verdict.ts'
import { hash128 } from '../core/hash.ts'
import { type Resolved, resolveOptions } from '../core/options/resolve.ts'
import { number, oneOf, optional, type Rule, text } from '../core/options/rules.ts'
import type { LetterFilter, LetterQuery } from './dead-letters.ts'
import { cursorFault, pageRules } from './page.ts'

const filterRules = {
  channel: optional(text()),
  handler: optional(text()),
  type: optional(text()),
  // Letters of a newer writer carry reasons that this version does not know; they can be asked for all the same.
  reason: optional(text() as Rule<Reason>),
  category: optional(oneOf(...CATEGORIES)),
  state: optional(oneOf(...LETTER_STATES)),
  group: optional(text()),
  after: optional(number()),
  before: optional(number()),
  search: optional(text()),
}
const queryRules = {
  ...filterRules,
  ...pageRules,
}

export type ResolvedLetterFilter = Resolved<typeof filterRules>

/** A mistyped filter is refused: taken as absent, it would select every letter there is. */
export function resolveLetterFilter(filter: LetterFilter | undefined): ResolvedLetterFilter {
  return resolveOptions('filter', filterRules, filter)
}

export interface ResolvedLetterQuery {
  readonly filter: ResolvedLetterFilter
  readonly limit: number
  /** The last letter of the page before. */
  readonly behind: LetterPlace | undefined
}

export function resolveLetterQuery(query: LetterQuery | undefined): ResolvedLetterQuery {
  const { limit, cursor, ...filter } = resolveOptions('query', queryRules, query)
  return { filter, limit, behind: cursor === undefined ? undefined : readCursor(cursor, filter) }
}

/** Where a letter stands in the list: newest failure first, of the same time the greater id first. */
export interface LetterPlace {
  readonly lastFailedAt: number
  readonly id: string
}

export function placeOf({ id, cycle }: DeadLetter): LetterPlace {
  return { lastFailedAt: cycle.lastFailedAt, id }
}

/** Below zero when `a` comes first. */
export function comparePlaces(a: LetterPlace, b: LetterPlace): number {
  if (a.lastFailedAt !== b.lastFailedAt) return b.lastFailedAt - a.lastFailedAt
  return a.id === b.id ? 0 : a.id > b.id ? -1 : 1
}

/** The cursor behind a letter. It carries a mark of its filter, because with another one it would skip letters. */
export function writeCursor({ lastFailedAt, id }: LetterPlace, filter: ResolvedLetterFilter): string {
  return `${lastFailedAt}_${id}_${markOf(filter)}`
}

function readCursor(cursor: string, filter: ResolvedLetterFilter): LetterPlace {
  const [, time, id, mark] = /^(-?[\d.]+(?:e[+-]?\d+)?)_(.+)_([0-9a-f]{8})$/.exec(cursor) ?? []
  if (id !== undefined && mark === markOf(filter)) return { lastFailedAt: Number(time), id }
  throw cursorFault(cursor, 'give the cursor of the page before, with the same filter')
}

function markOf(filter: ResolvedLetterFilter): string {
  return hash128(JSON.stringify(filter)).slice(0, 8)
}

/** Whether a letter is among those asked for. Stores with a query language of their own must answer the same. */
export function matchesFilter(letter: DeadLetter, filter: LetterFilter): boolean {
  const { channel, handler, event, state, cycle } = letter
  return (
    isWanted(filter.channel, channel) &&
    isWanted(filter.handler, handler) &&
    isWanted(filter.type, event.type) &&
    isWanted(filter.reason, cycle.reason) &&
    isWanted(filter.category, cycle.category) &&
    isWanted(filter.state, state) &&
    (filter.group === undefined || groupingOf(letter).id === filter.group) &&
    (filter.after === undefined || cycle.lastFailedAt >= filter.after) &&
    (filter.before === undefined || cycle.lastFailedAt < filter.before) &&
    (filter.search === undefined || tellsOf(letter, filter.search.toLowerCase()))
  )
}

function isWanted<T>(wanted: T | undefined, actual: T | undefined): boolean {
  return wanted === undefined || wanted === actual
}

function tellsOf({ event, cycle }: DeadLetter, lowerCased: string): boolean {
  const { failure } = cycle
  const texts = [failure?.name, failure?.message, failure?.code, event.id, event.key, event.type]
  return texts.some(each => each?.toLowerCase().includes(lowerCased))
}
