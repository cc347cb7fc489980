import { OptionsError } from '../../core/options/faults.ts'
import type { AuditEntry, AuditLog, AuditPage, AuditQuery } from '../../ports/audit.ts'

const DEFAULT_LIMIT = 100

/** The cursor is the place of the last entry shown, counted from the beginning: entries are only ever added. */
export class MemoryAudit implements AuditLog {
  readonly #entries: AuditEntry[] = []

  async append(entry: AuditEntry): Promise<void> {
    this.#entries.push(entry)
  }

  async list({ target, action, limit = DEFAULT_LIMIT, cursor }: AuditQuery = {}): Promise<AuditPage> {
    const entries: AuditEntry[] = []
    let place = cursor === undefined ? this.#entries.length : this.#placeOf(cursor)
    while (place > 0 && entries.length < limit) {
      const entry = this.#entries[--place]!
      if ((target ?? entry.target) === entry.target && (action ?? entry.action) === entry.action)
        entries.push(entry)
    }
    return { entries, cursor: place > 0 ? String(place) : undefined }
  }

  #placeOf(cursor: string): number {
    if (/^\d{1,15}$/.test(cursor) && Number(cursor) <= this.#entries.length) return Number(cursor)
    const remedy = 'give the cursor of the page before'
    throw new OptionsError('query', [{ path: 'query.cursor', received: JSON.stringify(cursor), remedy }])
  }
}
