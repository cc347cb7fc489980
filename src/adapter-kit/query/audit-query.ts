// What every store means by a query for the audit log.
import { resolveOptions } from '../../core/options/resolve.ts'
import { optional, text } from '../../core/options/rules.ts'
import type { AuditEntry, AuditQuery } from '../../ports/audit.ts'
import { decodeCursor, encodeCursor, type Listing } from './cursor.ts'
import { pageRules } from './page.ts'

const queryRules = {
  by: optional(text()),
  target: optional(text()),
  action: optional(text()),
  ...pageRules,
}

/**
 * `readPlace` understands a place as the store writes it; it answers undefined for what cannot be one. `behind` is the
 * place of the last entry of the page before. `cursorAt` makes the cursor of a place.
 */
export function resolveAuditQuery<T>(
  query: AuditQuery | undefined,
  readPlace: (place: string) => T | undefined,
) {
  const { cursor, ...wanted } = resolveOptions('query', queryRules, query)
  const listing: Listing = { name: 'audit', filter: [wanted.target, wanted.action, wanted.by] }
  return {
    ...wanted,
    behind: cursor === undefined ? undefined : decodeCursor(listing, cursor, readPlace),
    cursorAt: (place: string | number): string => encodeCursor(listing, String(place)),
  }
}

/** For logs that read their entries one by one. */
export function matchesAuditQuery(
  entry: AuditEntry,
  { by, target, action }: Pick<AuditQuery, 'by' | 'target' | 'action'>,
): boolean {
  return (
    (by ?? entry.by) === entry.by &&
    (target ?? entry.target) === entry.target &&
    (action ?? entry.action) === entry.action
  )
}

/** For logs that number their entries: the place is the number of the last one shown. Entries are only ever added. */
export function readEntryNumber(place: string): number | undefined {
  return /^\d{1,15}$/.test(place) ? Number(place) : undefined
}

/** An entry as a table keeps it, with its number. */
export interface AuditRow extends Omit<AuditEntry, 'detail'> {
  readonly seq: number
  readonly detail: string | null
}

export function auditEntryOf({ at, by, action, target, detail }: AuditRow): AuditEntry {
  const entry = { at, by, action, target }
  return detail === null ? entry : { ...entry, detail: JSON.parse(detail) }
}
