export type { BrokerConformance } from './conformance/broker/suite.ts'
export type { BrokerFixture } from './conformance/broker/world.ts'
export { brokerConformance } from './conformance/broker.ts'
export type {
  DeadLetterStoreConformance,
  DeadLetterStoreFixture,
} from './conformance/dead-letters/suite.ts'
export { deadLetterStoreConformance } from './conformance/dead-letters.ts'
export type { DrivenClock, TestFunction, Timing } from './conformance/harness.ts'
export { type JournalConformance, type JournalFixture, journalConformance } from './conformance/journal.ts'
export { type LedgerConformance, type LedgerFixture, ledgerConformance } from './conformance/ledger.ts'
export { type SinkConformance, type SinkFixture, sinkConformance } from './conformance/sink.ts'
export { type SpillConformance, type SpillFixture, spillConformance } from './conformance/spill.ts'
export { noopDeadLetters, type RecordingDeadLetters, recordingDeadLetters } from './dead-letters.ts'
export { createFactory, type Factory, type FactoryOptions, type TestLetterInput } from './factories.ts'
export { FakeClock, settle } from './fake-clock.ts'
export { type Recorded, Recorder } from './recorder.ts'
export { seededRandom } from './seeded-random.ts'
export { flakySink, type HangingSinkOptions, hangingSink, type Trouble } from './sinks.ts'
