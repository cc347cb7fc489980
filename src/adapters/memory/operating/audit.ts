import {
  matchesAuditQuery,
  readEntryNumber,
  resolveAuditQuery,
} from '../../../adapter-kit/query/audit-query.ts'
import type { AuditEntry, AuditLog } from '../../../ports/audit.ts'

/** An audit log in memory. The cursor is the index of the last entry on the page, because entries are only added. */
export function memoryAudit(): AuditLog {
  const all: AuditEntry[] = []
  return {
    async append(entry) {
      all.push(entry)
    },

    async list(query) {
      const { limit, behind, cursorAt, ...wanted } = resolveAuditQuery(query, readPlace)
      const entries: AuditEntry[] = []
      let place = behind ?? all.length
      while (place > 0 && entries.length < limit) {
        const entry = all[--place]!
        if (matchesAuditQuery(entry, wanted)) entries.push(entry)
      }
      return { entries, cursor: place > 0 ? cursorAt(place) : undefined }
    },
  }

  function readPlace(text: string): number | undefined {
    const place = readEntryNumber(text)
    return place !== undefined && place <= all.length ? place : undefined
  }
}
