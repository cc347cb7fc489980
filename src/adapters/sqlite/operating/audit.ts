import { auditEntryOf, readEntryNumber, resolveAuditQuery } from '../../../adapter-kit/query/audit-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import type { AuditLog } from '../../../ports/audit.ts'
import type { Session } from '../connection/connection.ts'

export function sqliteAudit(session: Session): AuditLog {
  return {
    async append(entry) {
      await session.connection.write('audit', 'append', entry)
    },

    async list(query) {
      const { connection } = session
      const { limit, behind: before, cursorAt, ...wanted } = resolveAuditQuery(query, readEntryNumber)
      const rows = await connection.read('audit', 'list', wanted, limit + 1, before)
      const { shown, cursor } = pageOf(rows, limit, ({ seq }) => cursorAt(seq))
      return { entries: shown.map(auditEntryOf), cursor }
    },
  }
}
