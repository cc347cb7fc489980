import type { AuditEntry, AuditLog, AuditQuery } from '../../ports/audit.ts'

type Wanted = Pick<AuditQuery, 'target' | 'action'> & { readonly limit: number }

/** Entries of one store, some of which make it onto a page of all of them. */
interface Stretch {
  readonly log: AuditLog
  readonly wanted: Wanted
  /** The cursor it was read from; null from the newest entry on. */
  readonly from: string | null
  /** A cursor to find the others from, and how many entries lie before it. */
  readonly anchor: { readonly cursor: string | undefined; readonly before: number }
  readonly entries: readonly AuditEntry[]
  /** Where it goes on; undefined at the end. */
  readonly cursor: string | undefined
}

/**
 * Reads as many as a page may take. A store tells only where a whole list of its goes on, and the newest is soon
 * another one: where `isPartly` may be taken, the first entry is read for itself, and what is behind it stays.
 */
export async function readStretch(
  log: AuditLog,
  wanted: Wanted,
  from: string | null,
  isPartly: boolean,
): Promise<Stretch> {
  const { limit } = wanted
  if (from !== null || !isPartly) {
    const page = await log.list({ ...wanted, cursor: from ?? undefined })
    return { log, wanted, from, anchor: { cursor: from ?? undefined, before: 0 }, ...page }
  }
  const first = await log.list({ ...wanted, limit: 1 })
  const anchor = { cursor: first.cursor, before: first.entries.length }
  if (first.cursor === undefined || limit === 1) return { log, wanted, from, anchor, ...first }
  const rest = await log.list({ ...wanted, limit: limit - 1, cursor: first.cursor })
  const entries = [...first.entries, ...rest.entries]
  return { log, wanted, from, anchor, entries, cursor: rest.cursor }
}

/** Where a stretch goes on when so many of its entries were taken; undefined at the end, null at the newest. */
export async function placeAfter(stretch: Stretch, taken: number): Promise<string | null | undefined> {
  const { log, wanted, from, anchor, entries, cursor } = stretch
  if (taken === entries.length) return cursor
  if (taken === 0) return from
  const behind = taken - anchor.before
  if (behind === 0) return anchor.cursor
  return (await log.list({ ...wanted, limit: behind, cursor: anchor.cursor })).cursor
}

/**
 * The newest first, each store's in its own order: that is the one its cursor follows, even where a clock was set back
 * between two entries.
 */
export function mergeNewest<S extends Stretch>(
  stretches: readonly S[],
  limit: number,
): readonly { readonly from: S; readonly entry: AuditEntry }[] {
  const heads = stretches.map(from => ({ from, at: 0 }))
  const merged: { from: S; entry: AuditEntry }[] = []
  while (merged.length < limit) {
    const left = heads.filter(({ from, at }) => at < from.entries.length)
    const [newest] = left.sort((a, b) => b.from.entries[b.at]!.at - a.from.entries[a.at]!.at)
    if (newest === undefined) break
    merged.push({ from: newest.from, entry: newest.from.entries[newest.at++]! })
  }
  return merged
}
