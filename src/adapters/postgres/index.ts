export { ClientMissingError } from '../../adapter-kit/load-client.ts'
export type { EnqueueOptions, PostgresOutbox } from './broker/outbox.ts'
export type { PgClient, PgNotification, PgPool, PgQueryable, PgResult } from './connection/client.ts'
export { PostgresError, PostgresSchemaError } from './errors.ts'
export type { PostgresLedger } from './ledger/ledger.ts'
export type { PostgresDeadLetters } from './letters/dead-letters.ts'
export {
  DEFAULT_LEASE_MS,
  DEFAULT_LEDGER_RETENTION_MS,
  DEFAULT_MAX_POLL_MS,
  type OpenPostgresOptions,
  type PostgresOptions,
} from './options.ts'
export { migratePostgres, schemaVersion } from './schema/migrate.ts'
export { type Migration, printMigrations, SCHEMA_VERSION } from './schema/migrations.ts'
export {
  connectPostgres,
  openPostgres,
  type PostgresStore,
  postgresDeadLetters,
  postgresLedger,
  postgresOutbox,
} from './store.ts'
