import { describe, it } from 'vitest'
import { brokerConformance } from '../../testing/conformance/broker.ts'
import { deadLetterStoreConformance } from '../../testing/conformance/dead-letters.ts'
import { journalConformance } from '../../testing/conformance/journal.ts'
import { ledgerConformance } from '../../testing/conformance/ledger.ts'
import { sinkConformance } from '../../testing/conformance/sink.ts'
import { spillConformance } from '../../testing/conformance/spill.ts'
import { storeConformance } from '../../testing/conformance/store.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import {
  memoryBroker,
  memoryDeadLetters,
  memoryJournal,
  memoryLedger,
  memorySink,
  memorySpill,
  memoryStore,
} from './index.ts'

describe('memory broker', () => {
  brokerConformance({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: false },
    canPublishRaw: true,
    canReadLetters: true,
    setup: async () => {
      const clock = new FakeClock()
      const broker = memoryBroker({ clock })
      return {
        broker,
        clock,
        publishRaw: (channel, raw) => broker.publishUndecodable(channel, { raw, problem: 'no event' }),
        keptLetters: async channel => broker.deadLetters.filter(letter => letter.channel === channel),
      }
    },
  })
})

describe('memory dead letters', () => {
  deadLetterStoreConformance({
    test: it,
    declares: { durable: false, bounded: true },
    setup: async options => ({ store: memoryDeadLetters(options), clock: new FakeClock() }),
  })
})

describe('memory ledger', () => {
  ledgerConformance({
    test: it,
    declares: { durable: false },
    setup: async () => {
      const clock = new FakeClock()
      return { ledger: memoryLedger({ clock }), clock }
    },
  })
})

describe('memory sink', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: false, hang: false, refuse: false },
    setup: async () => {
      const sink = memorySink()
      return { sink, clock: new FakeClock(), received: async () => sink.events.map(event => event.id) }
    },
  })
})

describe('memory spill', () => {
  spillConformance({
    test: it,
    declares: { durable: false },
    setup: async () => ({ spill: memorySpill(), clock: new FakeClock() }),
  })
})

describe('memory store', () => {
  storeConformance({
    test: it,
    declares: { durable: false, fleet: true },
    setup: async () => {
      const clock = new FakeClock()
      return { store: memoryStore({ clock }), clock }
    },
  })
})

describe('memory journal', () => {
  journalConformance({
    test: it,
    declares: { durable: true, bounded: true },
    setup: async ({ capacity: maxEvents }) => {
      const journal = memoryJournal({ maxEvents })
      return { journal, clock: new FakeClock(), reopen: async () => journal }
    },
  })
})
