import { PostgresOutbox } from './broker/outbox.ts'
import { type PostgresOptions, resolvePostgres } from './options.ts'

/** The outbox of a database: a broker whose events can be written in the caller's own transactions. */
export function postgresOutbox(options: PostgresOptions): PostgresOutbox {
  return new PostgresOutbox(resolvePostgres('postgresOutbox', options))
}
