import {
  type AuditRow,
  auditEntryOf,
  readEntryNumber,
  resolveAuditQuery,
} from '../../../adapter-kit/query/audit-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import type { AuditLog } from '../../../ports/audit.ts'
import type { PgPool } from '../connection/client.ts'
import { Conditions } from '../connection/conditions.ts'
import { runQuery } from '../connection/query.ts'
import { asMs, asTime, storableText, timeParameter } from '../connection/values.ts'

/** `openPool` throws once the store is closed. */
export function postgresAudit(openPool: () => PgPool): AuditLog {
  return {
    async append({ at, by, action, target, detail }) {
      await runQuery(
        openPool(),
        'writing the audit log',
        `insert into lazaret.audit (at, by, action, target, detail) values (${asTime(1)}, $2, $3, $4, $5)`,
        [
          timeParameter(at),
          storableText(by),
          storableText(action),
          storableText(target),
          detail === undefined ? null : JSON.stringify(detail),
        ],
      )
    },

    async list(query) {
      const pool = openPool()
      const { limit, behind, cursorAt, by, target, action } = resolveAuditQuery(query, readEntryNumber)
      const conditions = new Conditions(limit + 1)
        .equal('by', by && storableText(by))
        .equal('target', target && storableText(target))
        .equal('action', action && storableText(action))
      if (behind !== undefined) conditions.add(behind, parameter => `seq < $${parameter}`)
      const { rows } = await runQuery(
        pool,
        'reading the audit log',
        `select seq::float8 as seq, ${asMs('at')} as at, by, action, target, detail::text as detail
         from lazaret.audit where ${conditions.text} order by seq desc limit $1`,
        conditions.values,
      )
      const { shown, cursor } = pageOf<AuditRow>(rows, limit, last => cursorAt(last.seq))
      return { entries: shown.map(auditEntryOf), cursor }
    },
  }
}
