// What every store means by a query for the audit log.
import { resolveOptions } from '../core/options/resolve.ts'
import { optional, text } from '../core/options/rules.ts'
import type { AuditQuery } from './audit.ts'
import { cursorFault, pageRules } from './page.ts'

const queryRules = { target: optional(text()), action: optional(text()), ...pageRules }

export function resolveAuditQuery(query: AuditQuery | undefined) {
  return resolveOptions('query', queryRules, query)
}

/** For logs that number their entries: the cursor is the number of the last one shown. Entries are only ever added. */
export function readEntryNumber(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw cursorFault(cursor)
  return Number(cursor)
}
