export type { SqliteBroker } from './broker/broker.ts'
export { SqliteError } from './errors.ts'
export type { SqliteJournal } from './journal/journal.ts'
export type { SqliteLedger } from './ledger/ledger.ts'
export type { SqliteDeadLetters } from './letters/dead-letters.ts'
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
