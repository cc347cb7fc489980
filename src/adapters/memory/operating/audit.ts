import { readEntryNumber, resolveAuditQuery } from '../../../adapter-kit/query/audit-query.ts'
import type { AuditEntry, AuditLog, AuditPage, AuditQuery } from '../../../ports/audit.ts'

/** An audit log in memory. The cursor is the index of the last entry on the page, because entries are only added. */
export class MemoryAudit implements AuditLog {
  readonly #entries: AuditEntry[] = []

  async append(entry: AuditEntry): Promise<void> {
    this.#entries.push(entry)
  }

  async list(query?: AuditQuery): Promise<AuditPage> {
    const { target, action, limit, behind, cursorAt } = resolveAuditQuery(query, place =>
      this.#readPlace(place),
    )
    const entries: AuditEntry[] = []
    let place = behind ?? this.#entries.length
    while (place > 0 && entries.length < limit) {
      const entry = this.#entries[--place]!
      if ((target ?? entry.target) === entry.target && (action ?? entry.action) === entry.action)
        entries.push(entry)
    }
    return { entries, cursor: place > 0 ? cursorAt(place) : undefined }
  }

  #readPlace(text: string): number | undefined {
    const place = readEntryNumber(text)
    return place !== undefined && place <= this.#entries.length ? place : undefined
  }
}
