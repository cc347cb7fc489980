// What every dead-letter store means by a query, so that one page of letters is the same whichever store it is from.
import { groupingOf } from '../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { metadataTexts } from '../../core/dead-letter/metadata.ts'
import type { Reason } from '../../core/dead-letter/reason.ts'
import { LETTER_STATES } from '../../core/dead-letter/state.ts'
import { meetsAll, parseWhere, WHERE_REMEDY, whereRemedy } from '../../core/dead-letter/where.ts'
import { CATEGORIES } from '../../core/failure/classification.ts'
import { givenFields } from '../../core/options/merge.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { integer, number, oneOf, optional, type Rule, text } from '../../core/options/rules.ts'
import {
  LETTER_SORTS,
  type LetterFilter,
  type LetterQuery,
  SORT_DIRECTIONS,
} from '../../ports/dead-letters.ts'
import { decodeCursor, encodeCursor, type Listing } from './cursor.ts'
import {
  isByTime,
  type LetterOrder,
  type LetterPosition,
  NEWEST_FIRST,
  orderOf,
  positionAt,
  readPosition,
  writePosition,
} from './letter-order.ts'
import { pageRules } from './page.ts'

const whereRule: Rule<string> = {
  read(value, path, faults) {
    const remedy = typeof value === 'string' ? whereRemedy(value) : WHERE_REMEDY
    if (remedy !== undefined) faults.add(path, value, remedy)
    return String(value)
  },
}

const filterRules = {
  channel: optional(text()),
  handler: optional(text()),
  type: optional(text()),
  // Letters of a newer writer carry reasons that this version does not know; a query can still ask for them.
  reason: optional(text() as Rule<Reason>),
  category: optional(oneOf(...CATEGORIES)),
  state: optional(oneOf(...LETTER_STATES)),
  group: optional(text()),
  after: optional(number()),
  before: optional(number()),
  search: optional(text()),
  release: optional(text()),
  error: optional(text()),
  minAttempts: optional(integer({ min: 0 })),
  maxAttempts: optional(integer({ min: 0 })),
  where: optional(whereRule),
}
const queryRules = {
  ...filterRules,
  ...pageRules,
  sort: optional(oneOf(...LETTER_SORTS)),
  order: optional(oneOf(...SORT_DIRECTIONS)),
  startAt: optional(number()),
}

/** A letter filter that was checked. */
export type ResolvedLetterFilter = Resolved<typeof filterRules>

/** A mistyped filter is refused: taken as absent, it would select every letter there is. */
export function resolveLetterFilter(filter: LetterFilter | undefined): ResolvedLetterFilter {
  return resolveOptions('filter', filterRules, filter)
}

/** A letter query that was checked, with every default filled in. */
export interface ResolvedLetterQuery {
  readonly filter: ResolvedLetterFilter
  readonly limit: number
  readonly order: LetterOrder
  /** The last letter of the page before, or the place just before the time to start at. */
  readonly startAfter: LetterPosition | undefined
}

/** Checks a letter query and fills in its defaults. It throws OptionsError. */
export function resolveLetterQuery(query: LetterQuery | undefined): ResolvedLetterQuery {
  const resolved = resolveOptions('query', queryRules, query, ({ startAt, cursor, ...asked }, fault) => {
    if (startAt === undefined) return
    if (cursor !== undefined) fault('startAt', 'give startAt or a cursor, not both')
    if (!isByTime(orderOf(asked))) fault('startAt', 'leave it out, or sort by lastFailed or firstFailed')
  })
  const { limit, cursor, sort, order: direction, startAt, ...filter } = resolved
  const order = orderOf({ sort, order: direction })
  const first = startAt === undefined ? undefined : positionAt(startAt, order)
  return {
    filter,
    limit,
    order,
    startAfter: cursor === undefined ? first : readLetterCursor(cursor, filter, order),
  }
}

/** The cursor behind a letter. It holds for its filter and order alone, because with others it would skip letters. */
export function letterCursor(
  position: LetterPosition,
  filter: ResolvedLetterFilter,
  order: LetterOrder = NEWEST_FIRST,
): string {
  return encodeCursor(listingOf(filter, order), writePosition(position))
}

/** Where a cursor leads; one of another filter or order is refused. */
export function readLetterCursor(
  cursor: string,
  filter: ResolvedLetterFilter,
  order: LetterOrder = NEWEST_FIRST,
): LetterPosition {
  return decodeCursor(listingOf(filter, order), cursor, place => readPosition(place, order))
}

function listingOf(filter: ResolvedLetterFilter, { sort, isDescending }: LetterOrder): Listing {
  const isUsual = sort === NEWEST_FIRST.sort && isDescending === NEWEST_FIRST.isDescending
  return { name: isUsual ? 'letters' : `letters by ${sort}${isDescending ? ' desc' : ''}`, filter }
}

/** Whether a letter is among those asked for. Stores with a query language of their own must answer the same. */
export function matchesFilter(letter: DeadLetter, filter: LetterFilter): boolean {
  return letterMatcher(filter)(letter)
}

/** The same for many letters: the filter is read once. */
export function letterMatcher(filter: LetterFilter): (letter: DeadLetter) => boolean {
  const search = filter.search?.toLowerCase()
  const examines = examinedMatcher(filter)
  return letter => {
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
      (search === undefined || contains(searchedTexts(letter), search)) &&
      examines(letter)
    )
  }
}

/**
 * The fields of a filter whose text may be a masked value: their number of matches says whether it occurs. They are sealed,
 * masked and audited alike.
 */
const DISCLOSING_FIELDS = ['search', 'error', 'where'] as const

/** A filter without those fields, and the texts of those that it has. */
export function splitDisclosing<F extends LetterFilter>(
  filter: F,
): {
  readonly rest: Omit<F, (typeof DISCLOSING_FIELDS)[number]>
  readonly disclosing: { readonly [N in (typeof DISCLOSING_FIELDS)[number]]?: string }
  readonly isDisclosing: boolean
} {
  const { search, error, where, ...rest } = filter
  const isDisclosing = DISCLOSING_FIELDS.some(name => filter[name] !== undefined)
  return { rest, disclosing: givenFields({ search, error, where }), isDisclosing }
}

/** The same object with each of those texts as `ofText` makes it. */
export function withDisclosing<T extends object>(fields: T, ofText: (text: string) => string): T {
  const changed = DISCLOSING_FIELDS.flatMap(name => {
    const text: unknown = Reflect.get(fields, name)
    return typeof text === 'string' ? [[name, ofText(text)]] : []
  })
  return changed.length === 0 ? fields : { ...fields, ...Object.fromEntries(changed) }
}

/** The fields of a filter that no index of a store has. */
export type ExaminedFilter = Pick<LetterFilter, 'release' | 'error' | 'minAttempts' | 'maxAttempts' | 'where'>

/** Whether a letter matches those fields. Conditions that cannot be read match nothing. */
export function examinedMatcher(filter: ExaminedFilter): (letter: DeadLetter) => boolean {
  const { release, minAttempts = 0, maxAttempts = Number.POSITIVE_INFINITY, where } = filter
  const error = filter.error?.toLowerCase()
  const conditions = where === undefined ? [] : parseWhere(where)
  return letter => {
    const { attemptCount, failure } = letter.cycle
    return (
      isWanted(release, letter.release) &&
      attemptCount >= minAttempts &&
      attemptCount <= maxAttempts &&
      (error === undefined || contains([failure?.name, failure?.message, failure?.code], error)) &&
      conditions !== undefined &&
      meetsAll(letter, conditions)
    )
  }
}

function isWanted<T>(wanted: T | undefined, actual: T | undefined): boolean {
  return wanted === undefined || wanted === actual
}

function contains(texts: readonly (string | undefined)[], lowerCased: string): boolean {
  return texts.some(each => each?.toLowerCase().includes(lowerCased))
}

/**
 * The texts that a search looks through. Stores that keep them beside a sealed letter keep those that say nothing of the
 * payload (`isSealed`): an error's message quotes it, and a key and metadata are taken from it.
 */
export function searchedTexts(
  { event, cycle: { failure }, metadata }: DeadLetter,
  isSealed = false,
): readonly (string | undefined)[] {
  if (isSealed) return [failure?.name, failure?.code, event.id, event.type]
  const { id, key, type } = event
  return [failure?.name, failure?.message, failure?.code, id, key, type, ...metadataTexts(metadata)]
}
