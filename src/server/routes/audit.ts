import type { Listing } from '../../adapter-kit/query/cursor.ts'
import { containsSearch } from '../../operations/filter-text.ts'
import type { AuditEntry, AuditLog, AuditQuery } from '../../ports/audit.ts'
import type { ServerContext } from '../context.ts'
import { API, routeFor } from '../http/route.ts'
import { ProblemError } from '../problem.ts'
import { auditPage, auditQuery } from '../schema/audit.ts'
import { withFaults } from '../stores/federation.ts'
import { auditView } from '../views/audit.ts'
import { readJsonCursor, writeJsonCursor } from './json-cursor.ts'

const route = routeFor<Pick<ServerContext, 'stores' | 'searches'>>()
/** The next cursor of each store; null starts at the newest entry. Stores without more entries are omitted. */
type StoreCursors = Readonly<Record<string, string | null>>

export const auditRoutes = [
  route({
    method: 'GET',
    path: `${API}/audit`,
    about: 'Lists audit entries, newest first.',
    query: auditQuery,
    answer: auditPage,
    async handle({ context, caller, query: { store, limit, cursor, by, target, action } }) {
      const mayReveal = context.searches.mayReveal(caller)
      // A target may contain a search text. A caller could guess it and learn whether somebody searched for it.
      if (target !== undefined && containsSearch(target) && !mayReveal) return { entries: [] }
      const listing: Listing = { name: 'audit of all stores', filter: [target, action, by] }
      const isStoreCursors = (value: unknown): value is StoreCursors =>
        typeof value === 'object' &&
        value !== null &&
        Object.keys(value).every(name => context.stores.all.some(each => each.name === name)) &&
        Object.values(value).every(position => position === null || typeof position === 'string')
      const cursors = cursor === undefined ? undefined : readJsonCursor(listing, cursor, isStoreCursors)
      const asked = context.stores
        .chosen(store)
        .filter(({ name }) => cursors === undefined || Object.hasOwn(cursors, name))
      const wanted = { by, target, action, limit }
      const gathered = await context.stores.each(async named => {
        if (!asked.includes(named)) return undefined
        return readChunk(named.store.audit, wanted, cursors?.[named.name] ?? null, asked.length > 1)
      }, store)
      const chunks = gathered.found.flatMap(({ value, name }) =>
        value === undefined ? [] : [{ ...value, name }],
      )
      const merged = mergeNewest(chunks, limit)
      const next = await context.stores.each(async ({ name }) => {
        const chunk = chunks.find(each => each.name === name)
        return chunk && cursorAfter(chunk, merged.filter(({ from }) => from === chunk).length)
      }, store)
      const [lost] = next.faults
      if (lost !== undefined)
        throw new ProblemError(
          'unavailable',
          `Store ${lost.store} stopped answering (${lost.problem}). Retry.`,
        )
      const more = next.found.flatMap(({ name, value }) =>
        value === undefined ? [] : [[name, value] as const],
      )
      // A store that is down keeps its position, because it may answer on the next page.
      const down = gathered.faults.map(fault => [fault.store, cursors?.[fault.store] ?? null] as const)
      const left = more.length === 0 && merged.length === 0 ? [] : [...more, ...down]
      return {
        entries: withoutBegun(merged).map(({ from, entry }) => auditView(from.name, entry, mayReveal)),
        cursor: left.length === 0 ? undefined : writeJsonCursor(listing, Object.fromEntries(left)),
        ...withFaults(gathered.faults),
      }
    },
  }),
]

/**
 * Leaves out the entry that began an action where the page also has the entry that says how far the action came: that one has
 * all that the first says, and a person reads one line for one action.
 */
function withoutBegun<E extends { readonly entry: AuditEntry }>(merged: readonly E[]): readonly E[] {
  const keyOf = ({ at, by, target }: AuditEntry, action: string) => JSON.stringify([at, by, target, action])
  const ended = new Set(merged.map(({ entry }) => keyOf(entry, entry.action)))
  return merged.filter(({ entry }) => !ended.has(keyOf(entry, `${entry.action}.partial`)))
}

type Wanted = Pick<AuditQuery, 'by' | 'target' | 'action'> & { readonly limit: number }

/** Entries of one store. Only some of them may fit on the merged page. */
interface AuditChunk {
  readonly log: AuditLog
  readonly wanted: Wanted
  /** The cursor of the first entry; null for the newest entry. */
  readonly from: string | null
  /** A cursor to read from again, and the number of entries before it. */
  readonly anchor: { readonly cursor: string | undefined; readonly before: number }
  readonly entries: readonly AuditEntry[]
  /** The cursor after the last entry; undefined at the end. */
  readonly cursor: string | undefined
}

/**
 * Reads up to one page of entries. A store returns a cursor only for the end of a list. If the merged page may take only
 * some entries (`isPartly`), the first entry is read separately: its cursor stays valid while new entries arrive.
 */
async function readChunk(
  log: AuditLog,
  wanted: Wanted,
  from: string | null,
  isPartly: boolean,
): Promise<AuditChunk> {
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

/** The cursor after the first `taken` entries of a chunk; undefined at the end, null at the newest entry. */
async function cursorAfter(chunk: AuditChunk, taken: number): Promise<string | null | undefined> {
  const { log, wanted, from, anchor, entries, cursor } = chunk
  if (taken === entries.length) return cursor
  if (taken === 0) return from
  const behind = taken - anchor.before
  if (behind === 0) return anchor.cursor
  return (await log.list({ ...wanted, limit: behind, cursor: anchor.cursor })).cursor
}

/**
 * Merges the chunks, newest first, and keeps the order within each store. The cursors follow that order, even if a clock
 * was set back between two entries.
 */
function mergeNewest<S extends AuditChunk>(
  chunks: readonly S[],
  limit: number,
): readonly { readonly from: S; readonly entry: AuditEntry }[] {
  const heads = chunks.map(from => ({ from, at: 0 }))
  const merged: { from: S; entry: AuditEntry }[] = []
  while (merged.length < limit) {
    const left = heads.filter(({ from, at }) => at < from.entries.length)
    const [newest] = left.sort((a, b) => b.from.entries[b.at]!.at - a.from.entries[a.at]!.at)
    if (newest === undefined) break
    merged.push({ from: newest.from, entry: newest.from.entries[newest.at++]! })
  }
  return merged
}
