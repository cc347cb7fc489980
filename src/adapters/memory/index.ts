export { DEFAULT_MAX_PER_CHANNEL, MemoryBroker, type MemoryBrokerOptions, memoryBroker } from './broker.ts'
export {
  DEFAULT_LETTER_CAPACITY,
  MemoryDeadLetters,
  type MemoryDeadLettersOptions,
  memoryDeadLetters,
} from './dead-letters.ts'
export { MemoryJournal, type MemoryJournalOptions, memoryJournal } from './journal.ts'
export { DEFAULT_RETENTION_MS, MemoryLedger, type MemoryLedgerOptions, memoryLedger } from './ledger.ts'
export { MemoryLimit, type MemoryLimitOptions, memoryLimit } from './limit.ts'
export { DEFAULT_MAX_EVENTS, MemorySink, type MemorySinkOptions, memorySink } from './sink.ts'
export { MemorySpill, memorySpill } from './spill.ts'
export { memoryStore } from './store.ts'
