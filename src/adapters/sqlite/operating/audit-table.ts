import type { AuditRow } from '../../../adapter-kit/query/audit-query.ts'
import type { AuditEntry, AuditQuery } from '../../../ports/audit.ts'
import type { Database } from '../connection/database.ts'

export class AuditTable {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  append({ at, by, action, target, detail }: AuditEntry): void {
    const text = detail === undefined ? null : JSON.stringify(detail)
    this.#db
      .run`insert into audit(at, by, action, target, detail) values(${at}, ${by}, ${action}, ${target}, ${text})`
  }

  /** The newest first. */
  list(query: AuditQuery, limit: number, before = Number.MAX_SAFE_INTEGER): readonly AuditRow[] {
    const { by, target, action } = query
    const wanted = Object.entries({ by, target, action }).flatMap(([name, value]) =>
      value === undefined ? [] : [{ name, value }],
    )
    const conditions = wanted.map(({ name }) => `and ${name} = ? `).join('')
    const sql = `select * from audit where seq < ? ${conditions}order by seq desc limit ?`
    return [...this.#db.select<AuditRow>(sql, before, ...wanted.map(({ value }) => value), limit)]
  }
}
