import { readEntryNumber, resolveAuditQuery } from '../../../adapter-kit/query/audit-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import type { AuditEntry, AuditLog, AuditPage, AuditQuery } from '../../../ports/audit.ts'
import type { Session } from '../connection/connection.ts'
import type { AuditRow } from './audit-table.ts'

export class SqliteAudit implements AuditLog {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  async append(entry: AuditEntry): Promise<void> {
    await this.#session.connection.write('audit', 'append', entry)
  }

  async list(query?: AuditQuery): Promise<AuditPage> {
    const { connection } = this.#session
    const { limit, behind: before, cursorAt, ...wanted } = resolveAuditQuery(query, readEntryNumber)
    const rows = await connection.read('audit', 'list', wanted, limit + 1, before)
    const { shown, cursor } = pageOf(rows, limit, ({ seq }) => cursorAt(seq))
    return { entries: shown.map(entryOf), cursor }
  }
}

function entryOf({ at, by, action, target, detail }: AuditRow): AuditEntry {
  const entry = { at, by, action, target }
  return detail === null ? entry : { ...entry, detail: JSON.parse(detail) }
}
