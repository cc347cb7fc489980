import { comparePlaces, type LetterPlace } from '../../../adapter-kit/query/letter-query.ts'
import type { LetterFilter } from '../../../ports/dead-letters.ts'
import type { Database } from '../connection/database.ts'

/** A letter's place in the list, and where it lies. */
export interface FoundRow extends LetterPlace {
  readonly seq: number
  readonly facet: number
}

export interface FacetRow {
  readonly id: number
  readonly channel: string
  readonly reason: string
  readonly state: string
  readonly count: number
  readonly oldest_at: number
  readonly last_at: number
}

/** Which times a page may show: those behind the page before, and those that the filter allows. */
export interface Span {
  readonly behind: LetterPlace | undefined
  readonly after: number
  readonly before: number
}

const COLUMNS = {
  channel: 'channel',
  handler: 'handler',
  type: 'type',
  reason: 'reason',
  category: 'category',
  state: 'state',
  group: 'grp',
} as const

/** The facets that a filter selects, apart from its times and its text. */
export function facetsOf(db: Database, filter: LetterFilter): FacetRow[] {
  const wanted = Object.entries(COLUMNS).flatMap(([field, column]) => {
    const value = filter[field as keyof typeof COLUMNS]
    return value === undefined ? [] : [{ column, value }]
  })
  const conditions = wanted.map(({ column }) => ` and ${column} = ?`).join('')
  const facets = db.select<FacetRow>(
    `select id, channel, reason, state, count, oldest_at, last_at from facets where count > 0${conditions}`,
    ...wanted.map(({ value }) => value),
  )
  return [...facets]
}

export function isWithin(found: LetterPlace, { behind, after, before }: Span): boolean {
  const { lastFailedAt } = found
  return (
    lastFailedAt >= after &&
    lastFailedAt < before &&
    (behind === undefined || comparePlaces(found, behind) > 0)
  )
}
