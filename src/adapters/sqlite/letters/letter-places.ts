import type { DatabaseSync } from 'node:sqlite'
import type { LetterPlace } from '../../../adapter-kit/query/letter-query.ts'
import type { LetterFilter } from '../../../ports/dead-letters.ts'
import { all } from '../connection/rows.ts'

/** A letter's place in the list, and where it lies. */
export interface Found extends LetterPlace {
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

/** The order of the list (ports/letter-query), which the indexes have as well. Below zero when `a` comes first. */
export function comparePlaces(a: LetterPlace, b: LetterPlace): number {
  if (a.lastFailedAt !== b.lastFailedAt) return b.lastFailedAt - a.lastFailedAt
  return a.id === b.id ? 0 : a.id > b.id ? -1 : 1
}

/** The facets that a filter selects, apart from its times and its text. */
export function facetsOf(db: DatabaseSync, filter: LetterFilter): FacetRow[] {
  const wanted = Object.entries(COLUMNS).flatMap(([field, column]) => {
    const value = filter[field as keyof typeof COLUMNS]
    return value === undefined ? [] : [{ column, value }]
  })
  const conditions = wanted.map(({ column }) => ` and ${column} = ?`).join('')
  const facets = db.prepare(
    `select id, channel, reason, state, count, oldest_at, last_at from facets where count > 0${conditions}`,
  )
  return all<FacetRow>(facets, ...wanted.map(({ value }) => value))
}

export function isWithin(found: LetterPlace, { behind, after, before }: Span): boolean {
  const { lastFailedAt } = found
  return (
    lastFailedAt >= after &&
    lastFailedAt < before &&
    (behind === undefined || comparePlaces(found, behind) > 0)
  )
}

/** The first so many of whatever is put in. */
export class Best {
  readonly #limit: number
  #found: Found[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  add(found: readonly Found[]): void {
    if (found.length === 0) return
    this.#found = this.#found.concat(found).sort(comparePlaces).slice(0, this.#limit)
  }

  /** Whether nothing of this time or earlier can be among them any more. */
  isBetterThan(lastFailedAt: number): boolean {
    const last = this.#found[this.#limit - 1]
    return last !== undefined && lastFailedAt < last.lastFailedAt
  }

  get all(): readonly Found[] {
    return this.#found
  }
}
