import type { AuditEntry, AuditLog } from '../ports/audit.ts'

/** The entries that are read, newest first. */
const MAX_READ = 5_000
const READ_AT_ONCE = 500

/** The newest entries of an action, newest first. */
export async function* entriesOf(audit: AuditLog, action: string): AsyncGenerator<AuditEntry> {
  let cursor: string | undefined
  for (let read = 0; read < MAX_READ; read += READ_AT_ONCE) {
    const page = await audit.list({ action, limit: READ_AT_ONCE, cursor })
    yield* page.entries
    cursor = page.cursor
    if (cursor === undefined) return
  }
}
