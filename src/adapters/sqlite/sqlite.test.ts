import { afterAll, describe, it } from 'vitest'
import { KeptSqliteFile } from '../../../test/support/sqlite-file.ts'
import { brokerConformance } from '../../testing/conformance/broker.ts'
import { deadLetterStoreConformance } from '../../testing/conformance/dead-letters.ts'
import { journalConformance } from '../../testing/conformance/journal.ts'
import { ledgerConformance } from '../../testing/conformance/ledger.ts'
import { storeConformance } from '../../testing/conformance/store.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { openSqlite, sqliteBroker, sqliteDeadLetters, sqliteJournal, sqliteLedger } from './index.ts'

/** The thread answers in real time, whatever the clock says: what must not happen gets this long. */
const QUIET_MS = 15

const clock = new FakeClock()
const file = new KeptSqliteFile(clock)
const { path } = file
afterAll(() => file.close())

describe('sqlite broker', () => {
  brokerConformance({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    canPublishRaw: true,
    canReadLetters: true,
    setup: async () => {
      const letters = sqliteDeadLetters({ path, clock })
      return {
        clock,
        quietMs: QUIET_MS,
        broker: sqliteBroker({ path, clock }),
        async reopen() {
          await letters.close()
          await file.restart()
          return sqliteBroker({ path, clock })
        },
        publishRaw: async (channel, raw) => publishRaw(channel, raw),
        keptLetters: async channel => (await letters.list({ channel })).letters,
        cleanup: () => letters.close(),
      }
    },
  })
})

describe('sqlite dead letters', () => {
  deadLetterStoreConformance({
    test: it,
    declares: { durable: true, bounded: true, codec: true },
    setup: async ({ capacity, codec }) => {
      const open = () => sqliteDeadLetters({ path, clock, codec, maxLetters: capacity })
      const store = open()
      await store.stats()
      file.clear()
      return {
        store,
        clock,
        async reopen() {
          await file.restart()
          return open()
        },
      }
    },
  })
})

describe('sqlite ledger', () => {
  ledgerConformance({
    test: it,
    declares: { durable: true },
    setup: async () => ({
      ledger: sqliteLedger({ path, clock }),
      clock,
      async reopen() {
        await file.restart()
        return sqliteLedger({ path, clock })
      },
    }),
  })
})

describe('sqlite store', () => {
  storeConformance({
    test: it,
    declares: { durable: true, fleet: true },
    setup: async () => {
      const open = () => openSqlite({ path, clock })
      const store = open()
      await store.ready()
      file.clear()
      return {
        store,
        clock,
        // Another setting makes it another connection, with threads of its own.
        openSecond: async () => openSqlite({ path, clock, busyTimeoutMs: 4_999 }),
        async reopen() {
          await file.restart()
          return open()
        },
      }
    },
  })
})

describe('sqlite journal', () => {
  journalConformance({
    test: it,
    declares: { durable: true, bounded: true },
    setup: async ({ capacity: maxJournalEvents }) => {
      const open = () => sqliteJournal({ path, clock, maxJournalEvents, busyTimeoutMs: 5_000 })
      const journal = open()
      await journal.pending()
      file.clear()
      return {
        journal,
        clock,
        async reopen() {
          await file.restart()
          return open()
        },
      }
    },
  })
})

/** As another program would. */
function publishRaw(channel: string, raw: Uint8Array): void {
  file.with(db => {
    db.exec('begin immediate')
    db.exec(
      "insert into counters(name, value) values('place', 1) on conflict do update set value = value + 1",
    )
    const { place } = db.prepare("select value as place from counters where name = 'place'").get() as {
      place: number
    }
    const { handler } = db.prepare('select id as handler from handlers where channel = ?').get(channel) as {
      handler: number
    }
    db.prepare('insert into events(seq, refs, body) values(?, 1, ?)').run(place, raw)
    db.prepare('insert into ready(handler, place, seq, started, ended, flags) values(?, ?, ?, 0, 0, 0)').run(
      handler,
      place,
      place,
    )
    db.exec('commit')
  })
}
