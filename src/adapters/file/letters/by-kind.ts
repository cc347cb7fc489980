import type { Kind } from './facts.ts'
import type { Found } from './selection.ts'

/** Letters of one kind in one segment. */
export interface OfKind {
  readonly kind: Kind
  readonly count: number
  /** The first failure of all their cycles. */
  readonly firstFailedAt: number
  /** Of their last failures, the earliest and the latest, and whose that is. */
  readonly oldestAt: number
  readonly newestAt: number
  readonly newest: string
}

/** A segment has few kinds, so that the letters themselves are a matter of numbers. */
export function byKind({ rows, found }: Found): OfKind[] {
  const all = rows.kinds.map(() => ({
    count: 0,
    firstFailedAt: Number.POSITIVE_INFINITY,
    oldestAt: Number.POSITIVE_INFINITY,
    newestAt: Number.NEGATIVE_INFINITY,
    newestRow: 0,
  }))
  for (const row of found) {
    const of = all[rows.kindNumber(row)]!
    const failedAt = rows.lastFailedAt(row)
    of.count++
    of.firstFailedAt = Math.min(of.firstFailedAt, rows.firstFailedAt(row))
    of.oldestAt = Math.min(of.oldestAt, failedAt)
    if (failedAt < of.newestAt) continue
    of.newestAt = failedAt
    of.newestRow = row
  }
  return all.flatMap(({ newestRow, ...of }, number) =>
    of.count === 0 ? [] : { ...of, kind: rows.kinds[number]!, newest: rows.idOf(newestRow) },
  )
}
