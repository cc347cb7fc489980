import {
  compareLetters,
  type LetterOrder,
  type LetterPosition,
} from '../../../adapter-kit/query/letter-order.ts'
import type { LetterFilter, LetterSort } from '../../../ports/dead-letters.ts'
import type { Database } from '../connection/database.ts'
import type { FacetRow } from './facets.ts'

/** The position of a letter in the list, and its row. */
export interface FoundRow extends LetterPosition {
  readonly seq: number
  readonly facet: number
  readonly firstFailedAt: number
}

export interface CountedFacet
  extends Pick<
    FacetRow,
    'id' | 'channel' | 'handler' | 'reason' | 'state' | 'count' | 'oldest_at' | 'last_at'
  > {
  /** What the list is sorted by; null where that is a time. */
  readonly value: string | number | null
}

/** The letters that a page may show: those after the previous page, and those whose last failure the filter allows. */
export interface Span {
  readonly order: LetterOrder
  readonly behind: LetterPosition | undefined
  readonly after: number
  readonly before: number
}

const FIELDS = ['channel', 'handler', 'type', 'reason', 'category', 'state', 'group'] as const

/** The facets that a filter selects, apart from its times and its text. */
export function facetsOf(
  db: Database,
  filter: LetterFilter,
  sort: LetterSort = 'lastFailed',
): CountedFacet[] {
  const wanted = FIELDS.flatMap(field => {
    const value = filter[field]
    return value === undefined ? [] : [{ column: columnOf(field), value }]
  })
  const conditions = wanted.map(({ column }) => ` and ${column} = ?`).join('')
  const facets = db.select<CountedFacet>(
    `select id, channel, handler, reason, state, count, oldest_at, last_at, ${columnOf(sort)} as value
     from facets where count > 0${conditions}`,
    ...wanted.map(({ value }) => value),
  )
  return [...facets]
}

function columnOf(name: (typeof FIELDS)[number] | LetterSort): string {
  if (name === 'lastFailed' || name === 'firstFailed') return 'null'
  return name === 'group' ? 'grp' : name
}

export function isWithin(found: LetterPosition, { order, behind, after, before }: Span): boolean {
  const { lastFailedAt } = found
  return (
    lastFailedAt >= after &&
    lastFailedAt < before &&
    (behind === undefined || compareLetters(found, behind, order) > 0)
  )
}
