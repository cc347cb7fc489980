import type { PgQueryable } from 'lazaret/postgres'
import type { TransactionSql } from 'postgres'

const TEXT = 25

/**
 * postgres.js: `sql.begin(tx => outbox.enqueue(onPostgresJs(tx), event))`.
 *
 * It writes what goes into a `json` parameter as JSON itself, and ours is JSON already; so texts are sent as what they are.
 */
export function onPostgresJs(tx: TransactionSql): PgQueryable {
  return {
    async query(text, values = []) {
      const asTheyAre = values.map(value =>
        typeof value === 'string' ? tx.typed(value as never, TEXT) : value,
      )
      const rows = await tx.unsafe(text, asTheyAre as never[])
      return { rows: [...rows], rowCount: rows.count }
    },
  }
}
