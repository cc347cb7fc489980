import { compareLetters, type LetterPosition } from '../../../adapter-kit/query/letter-query.ts'
import type { LetterFilter } from '../../../ports/dead-letters.ts'
import type { Database } from '../connection/database.ts'
import type { FacetRow } from './facets.ts'

/** The position of a letter in the list, and its row. */
export interface FoundRow extends LetterPosition {
  readonly seq: number
  readonly facet: number
}

export type CountedFacet = Pick<
  FacetRow,
  'id' | 'channel' | 'handler' | 'reason' | 'state' | 'count' | 'oldest_at' | 'last_at'
>

/** The times that a page may show: those after the previous page, and those that the filter allows. */
export interface Span {
  readonly behind: LetterPosition | undefined
  readonly after: number
  readonly before: number
}

const FIELDS = ['channel', 'handler', 'type', 'reason', 'category', 'state', 'group'] as const

/** The facets that a filter selects, apart from its times and its text. */
export function facetsOf(db: Database, filter: LetterFilter): CountedFacet[] {
  const wanted = FIELDS.flatMap(field => {
    const value = filter[field]
    return value === undefined ? [] : [{ column: field === 'group' ? 'grp' : field, value }]
  })
  const conditions = wanted.map(({ column }) => ` and ${column} = ?`).join('')
  const facets = db.select<CountedFacet>(
    `select id, channel, handler, reason, state, count, oldest_at, last_at from facets where count > 0${conditions}`,
    ...wanted.map(({ value }) => value),
  )
  return [...facets]
}

export function isWithin(found: LetterPosition, { behind, after, before }: Span): boolean {
  const { lastFailedAt } = found
  return (
    lastFailedAt >= after &&
    lastFailedAt < before &&
    (behind === undefined || compareLetters(found, behind) > 0)
  )
}
