import type { PgQueryable } from 'lazaret/postgres'
import type { TransactionSql } from 'postgres'

const TEXT = 25

/**
 * postgres.js: `sql.begin(tx => outbox.enqueue(onPostgresJs(tx), event))`.
 *
 * postgres.js encodes the value of a `json` parameter as JSON. The values are JSON already, so this function sends them as
 * plain text.
 */
export function onPostgresJs(tx: TransactionSql): PgQueryable {
  return {
    async query(text, values = []) {
      const asText = values.map(value => (typeof value === 'string' ? tx.typed(value as never, TEXT) : value))
      const rows = await tx.unsafe(text, asText as never[])
      return { rows: [...rows], rowCount: rows.count }
    },
  }
}
