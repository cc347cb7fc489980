import type { Knex } from 'knex'
import type { PgQueryable } from 'lazaret/postgres'

/** Knex: `knex.transaction(tx => outbox.enqueue(onKnex(tx), event))`. */
export function onKnex(tx: Knex.Transaction): PgQueryable {
  return {
    async query(text, values = []) {
      // The placeholder of Knex is ?, with the values in the order of the statement.
      const bindings: Knex.RawBinding[] = []
      const statement = text.replaceAll('?', '\\?').replaceAll(/\$(\d+)/g, (_, place) => {
        bindings.push(values[Number(place) - 1] as Knex.RawBinding)
        return '?'
      })
      return await tx.raw(statement, bindings)
    },
  }
}
