import { type SQL, sql } from 'drizzle-orm'
import type { PgQueryable, PgResult } from 'lazaret/postgres'

/** What is used of a transaction of `drizzle-orm/node-postgres`. */
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

/** Drizzle numbers placeholders itself: a statement is cut at `$1`, `$2` …, and the values put in between. */
function filledIn(text: string, values: readonly unknown[]): SQL {
  const pieces = text.split(/\$(\d+)/)
  return sql.join(
    pieces.map((piece, at) => (at % 2 === 0 ? sql.raw(piece) : sql`${sql.param(values[Number(piece) - 1])}`)),
  )
}
