import type { SeenLetter } from '../../../ports/dead-letters.ts'
import type { Database } from '../connection/database.ts'
import type { CountedFacet, Span } from './letter-spans.ts'

/** The letters that one call of the reading thread returns. They take a few milliseconds. */
const PORTION = 5_000

/** The position behind which a portion begins: facets in the order of their ids, and in each the letters by time and id. */
export interface VersionPlace {
  readonly facet: number
  readonly lastFailedAt: number
  readonly id: string
}

export const FIRST_PLACE: VersionPlace = { facet: 0, lastFailedAt: Number.NEGATIVE_INFINITY, id: '' }

export interface VersionPortion {
  readonly found: readonly SeenLetter[]
  /** Undefined after the last letter. */
  readonly next: VersionPlace | undefined
}

/** Reads nothing but the index, whatever the filter is: a facet stands for all that it compares except times and text. */
export function readVersions(
  db: Database,
  facets: readonly CountedFacet[],
  { after, before }: Span,
  place: VersionPlace,
): VersionPortion {
  const found: SeenLetter[] = []
  const left = facets.filter(({ id }) => id >= place.facet).sort((a, b) => a.id - b.id)
  for (const { id: facet, state, oldest_at: oldest, last_at: latest } of left) {
    if (latest < after || oldest >= before) continue
    const from = facet === place.facet ? place : { lastFailedAt: after, id: '' }
    const room = PORTION - found.length
    const rows = db.all<{ id: string; lastFailedAt: number }>`
      select id, at as lastFailedAt from letters indexed by letters_by_facet
      where facet = ${facet} and (at, id) > (${from.lastFailedAt}, ${from.id}) and at < ${before}
      order by at, id limit ${room}`
    for (const { id, lastFailedAt } of rows) found.push({ id, state, lastFailedAt })
    const last = rows.at(-1)
    if (rows.length === room && last !== undefined) return { found, next: { facet, ...last } }
  }
  return { found, next: undefined }
}
