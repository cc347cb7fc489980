import type { Door } from '../../../adapter-kit/door.ts'
import { readEntryNumber, resolveAuditQuery } from '../../../adapter-kit/query/audit-query.ts'
import type { AuditEntry, AuditLog, AuditPage, AuditQuery } from '../../../ports/audit.ts'
import { ask } from '../connection/ask.ts'
import type { PgPool } from '../connection/client.ts'
import { asMs, asTime, holdable, timeParameter } from '../connection/text.ts'
import { Conditions } from '../letters/letter-filter.ts'

export class PostgresAudit implements AuditLog {
  readonly #pool: PgPool
  readonly #door: Door

  constructor(pool: PgPool, door: Door) {
    this.#pool = pool
    this.#door = door
  }

  async append({ at, by, action, target, detail }: AuditEntry): Promise<void> {
    this.#door.requireOpen()
    await ask(
      this.#pool,
      'writing the audit log',
      `insert into lazaret.audit (at, by, action, target, detail) values (${asTime(1)}, $2, $3, $4, $5)`,
      [
        timeParameter(at),
        holdable(by),
        holdable(action),
        holdable(target),
        detail === undefined ? null : JSON.stringify(detail),
      ],
    )
  }

  async list(query?: AuditQuery): Promise<AuditPage> {
    this.#door.requireOpen()
    const { limit, behind, cursorAt, target, action } = resolveAuditQuery(query, readEntryNumber)
    const conditions = new Conditions(limit + 1)
    if (target !== undefined) conditions.add(holdable(target), parameter => `target = $${parameter}`)
    if (action !== undefined) conditions.add(holdable(action), parameter => `action = $${parameter}`)
    if (behind !== undefined) conditions.add(behind, parameter => `seq < $${parameter}`)
    const { rows } = await ask(
      this.#pool,
      'reading the audit log',
      `select seq::float8 as seq, ${asMs('at')} as at, by, action, target, detail::text as detail
       from lazaret.audit where ${conditions.text} order by seq desc limit $1`,
      conditions.values,
    )
    const shown = rows.slice(0, limit)
    return {
      entries: shown.map(entryOf),
      cursor: rows.length > limit ? cursorAt(shown.at(-1).seq) : undefined,
    }
  }
}

interface AuditRow extends Omit<AuditEntry, 'detail'> {
  readonly detail: string | null
}

function entryOf({ at, by, action, target, detail }: AuditRow): AuditEntry {
  const entry = { at, by, action, target }
  return detail === null ? entry : { ...entry, detail: JSON.parse(detail) }
}
