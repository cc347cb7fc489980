export { LinesDamagedError, StoreFailedError, StoreLockedError } from './errors.ts'
export type { Damage, DamagedFile } from './journal/damage.ts'
export {
  DEFAULT_MAX_JOURNAL_EVENTS,
  FileJournal,
  type FileJournalOptions,
  fileJournal,
} from './journal/event-journal.ts'
export type { FileUsage } from './journal/usage.ts'
export {
  FileDeadLetters,
  type FileDeadLettersOptions,
  fileDeadLetters,
} from './letters/dead-letters.ts'
export { FileSpill, type FileSpillOptions, fileSpill } from './letters/spill.ts'
export { type FileOpenAlertsOptions, fileOpenAlerts } from './open-alerts.ts'
export { DEFAULT_RETENTION_MS, DEFAULT_ROTATE_BYTES, type JournalOptions } from './options.ts'
export { type FileStore, type FileStoreOptions, fileStore } from './store.ts'
