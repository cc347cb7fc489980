import type { Door } from '../../../adapter-kit/door.ts'
import { readEntryNumber, resolveAuditQuery } from '../../../adapter-kit/query/audit-query.ts'
import type { AuditEntry, AuditLog, AuditPage, AuditQuery } from '../../../ports/audit.ts'
import type { AuditRow } from '../connection/calls.ts'
import type { Connection } from '../connection/connection.ts'

export class SqliteAudit implements AuditLog {
  readonly #connection: Connection
  readonly #door: Door

  constructor(connection: Connection, door: Door) {
    this.#connection = connection
    this.#door = door
  }

  async append(entry: AuditEntry): Promise<void> {
    this.#door.requireOpen()
    await this.#connection.writer.call('appendAudit', entry)
  }

  async list(query?: AuditQuery): Promise<AuditPage> {
    this.#door.requireOpen()
    const { limit, behind: before, cursorAt, ...wanted } = resolveAuditQuery(query, readEntryNumber)
    const rows = await this.#connection.read('listAudit', wanted, limit + 1, before)
    const shown = rows.slice(0, limit)
    return {
      entries: shown.map(entryOf),
      cursor: rows.length > limit ? cursorAt(shown.at(-1)!.seq) : undefined,
    }
  }
}

function entryOf({ at, by, action, target, detail }: AuditRow): AuditEntry {
  const entry = { at, by, action, target }
  return detail === null ? entry : { ...entry, detail: JSON.parse(detail) }
}
