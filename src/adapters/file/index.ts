export {
  FileDeadLetters,
  type FileDeadLettersOptions,
  type FileUsage,
  fileDeadLetters,
} from './dead-letters.ts'
export { StoreFailedError, StoreLockedError } from './errors.ts'
export {
  DEFAULT_MAX_JOURNAL_EVENTS,
  FileJournal,
  type FileJournalOptions,
  fileJournal,
} from './event-journal.ts'
export type { Damage } from './journal/damage.ts'
export { DEFAULT_RETENTION_MS, DEFAULT_ROTATE_BYTES, type JournalOptions } from './options.ts'
export { FileSpill, type FileSpillOptions, fileSpill } from './spill.ts'
export { type FileStore, type FileStoreOptions, fileStore } from './store.ts'
