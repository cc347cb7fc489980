import { CompiledQuery, type Transaction } from 'kysely'
import type { PgQueryable } from 'lazaret/postgres'

/** Kysely: `db.transaction().execute(tx => outbox.enqueue(onKysely(tx), event))`. */
export function onKysely<DB>(tx: Transaction<DB>): PgQueryable {
  return {
    async query(text, values = []) {
      const { rows, numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(text, values))
      return { rows, rowCount: Number(numAffectedRows ?? rows.length) }
    },
  }
}
