export type { SqliteBroker } from './client/broker.ts'
export type { SqliteDeadLetters } from './client/dead-letters.ts'
export type { SqliteJournal } from './client/journal.ts'
export type { SqliteLedger } from './client/ledger.ts'
export { SqliteError } from './errors.ts'
export {
  DEFAULT_BUSY_TIMEOUT_MS,
  DEFAULT_JOURNAL_BUSY_TIMEOUT_MS,
  DEFAULT_LEASE_MS,
  DEFAULT_LEDGER_RETENTION_MS,
  DEFAULT_MAX_JOURNAL_EVENTS,
  DEFAULT_MAX_PER_CHANNEL,
  DEFAULT_MAX_POLL_MS,
  type SqliteOptions,
} from './options.ts'
export {
  openSqlite,
  type SqliteStore,
  sqliteBroker,
  sqliteDeadLetters,
  sqliteJournal,
  sqliteLedger,
} from './store.ts'
