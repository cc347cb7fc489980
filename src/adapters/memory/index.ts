export {
  DEFAULT_MAX_PER_CHANNEL,
  MemoryBroker,
  type MemoryBrokerOptions,
  memoryBroker,
} from './broker/broker.ts'
export { MemoryJournal, type MemoryJournalOptions, memoryJournal } from './journal/journal.ts'
export {
  DEFAULT_RETENTION_MS,
  MemoryLedger,
  type MemoryLedgerOptions,
  memoryLedger,
} from './ledger/ledger.ts'
export {
  DEFAULT_LETTER_CAPACITY,
  MemoryDeadLetters,
  type MemoryDeadLettersOptions,
  memoryDeadLetters,
} from './letters/dead-letters.ts'
export { MemorySpill, memorySpill } from './letters/spill.ts'
export { MemoryLimit, type MemoryLimitOptions, memoryLimit } from './limits/limit.ts'
export { DEFAULT_MAX_EVENTS, MemorySink, type MemorySinkOptions, memorySink } from './sink.ts'
export { memoryStore } from './store.ts'
