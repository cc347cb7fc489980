import { type SQL, sql } from 'drizzle-orm'
import type { PgQueryable, PgResult } from 'lazaret/postgres'

/** The part of a `drizzle-orm/node-postgres` transaction that `onDrizzle` uses. */
interface DrizzleTransaction {
  execute(query: SQL): PromiseLike<PgResult>
}

/** Drizzle on node-postgres: `db.transaction(tx => outbox.enqueue(onDrizzle(tx), event))`. */
export function onDrizzle(tx: DrizzleTransaction): PgQueryable {
  return {
    async query(text, values = []) {
      return await tx.execute(filledIn(text, values))
    },
  }
}

/** Drizzle numbers the placeholders itself. So this function cuts the statement at `$1`, `$2` … and inserts the values. */
function filledIn(text: string, values: readonly unknown[]): SQL {
  const pieces = text.split(/\$(\d+)/)
  return sql.join(
    pieces.map((piece, at) => (at % 2 === 0 ? sql.raw(piece) : sql`${sql.param(values[Number(piece) - 1])}`)),
  )
}
