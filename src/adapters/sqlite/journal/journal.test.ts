import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { SqliteFile } from '../../../../test/support/sqlite-file.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { createDispatcher } from '../../../runtime/dispatcher/dispatcher.ts'
import { createSealing } from '../../../runtime/sealing/sealing.ts'
import { createFactory } from '../../../testing/factories.ts'
import { memoryDeadLetters } from '../../memory/index.ts'
import { APPLICATION_ID, MIGRATIONS } from '../connection/schema.ts'
import { openSqlite, sqliteJournal } from '../index.ts'

const make = createFactory()
const files: SqliteFile[] = []
afterAll(() => {
  for (const file of files) file.remove()
})

function newFile(): SqliteFile {
  const file = new SqliteFile()
  files.push(file)
  return file
}

const sealed = () => createSealing({ current: 'k', keys: { k: randomBytes(32) } })

describe('the journal in a sqlite file', () => {
  it('E21: is there in a file that an earlier version made', async () => {
    const { path } = newFile()
    const db = new DatabaseSync(path)
    db.exec(MIGRATIONS[0]!)
    db.exec(`pragma user_version = 1; pragma application_id = ${APPLICATION_ID}`)
    db.close()
    const journal = sqliteJournal({ path })
    const event = make.event()
    await journal.append({ event })
    expect((await journal.pending()).entries).toHaveLength(1)
    await journal.close()
    await expect(journal.append({ event })).rejects.toMatchObject({ code: 'LAZARET_STORE_CLOSED' })
    await expect(journal.pending()).rejects.toThrow(`journal in ${path}`)
  })

  it('E21: is a part of the whole store, and closes with it', async () => {
    const store = openSqlite({ path: newFile().path })
    await store.journal.append({ event: make.event(), job: 'SendEmailJob' })
    expect((await store.journal.pending()).entries.map(({ job }) => job)).toEqual(['SendEmailJob'])
    await store.close()
    await expect(store.journal.pending()).rejects.toMatchObject({ code: 'LAZARET_STORE_CLOSED' })
  })

  it('E21: locked by another process, an append says so, and the next one works', async () => {
    const { path } = newFile()
    const journal = sqliteJournal({ path, busyTimeoutMs: 50 })
    await journal.pending()
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    const event = make.event()
    await expect(journal.append({ event })).rejects.toMatchObject({
      code: 'LAZARET_STORE_LOCKED',
      message: expect.stringContaining('another process has locked the file'),
    })
    other.exec('rollback')
    other.close()
    await journal.append({ event })
    expect((await journal.pending()).entries).toHaveLength(1)
    await journal.close()
  })

  it('E21: locked while a dispatcher starts, its events are sent once the lock is gone', async () => {
    const { path } = newFile()
    const left = make.events(20)
    const earlier = sqliteJournal({ path })
    for (const event of left) await earlier.append({ event })
    await earlier.close()
    const other = new DatabaseSync(path)
    other.exec('pragma locking_mode = exclusive; begin exclusive')
    const failed = Promise.withResolvers<unknown>()
    const sent = new Set<string>()
    const allSent = Promise.withResolvers<void>()
    const events = createDispatcher({
      sinks: {
        sink: {
          async write(batch) {
            for (const { id } of batch) sent.add(id)
            if (sent.size === left.length) allSent.resolve()
          },
        },
      },
      deadLetters: memoryDeadLetters(),
      journal: sqliteJournal({ path, busyTimeoutMs: 50 }),
      observer: { journalFailed: ({ error }) => failed.resolve(error) },
    })
    expect(await failed.promise).toMatchObject({ code: 'LAZARET_STORE_LOCKED' })
    expect(events.health().stalls).toMatchObject([{ place: 'journal' }])
    other.exec('rollback')
    other.close()
    await allSent.promise
    expect(events.health().status).toBe('UP')
    await events.close()
  })

  it('E21: full, critical events wait for their outcome instead, and the error is told once each', async () => {
    const journal = sqliteJournal({ path: newFile().path, maxJournalEvents: 1 })
    await journal.append({ event: make.event(), sinks: ['elsewhere'] })
    const hold = Promise.withResolvers<void>()
    const sink = { write: () => hold.promise }
    const failures: unknown[] = []
    const told = Promise.withResolvers<void>()
    const events = createDispatcher({
      sinks: { sink },
      deadLetters: memoryDeadLetters(),
      journal,
      critical: () => true,
      observer: {
        journalFailed: ({ error }) => {
          failures.push(error)
          told.resolve()
        },
      },
    })
    const tracked = events.track({ type: 'payment.failed' }, { wait: 'accepted' })
    await told.promise
    hold.resolve()
    expect((await tracked).sinks.sink.outcome).toBe('delivered')
    expect(failures).toMatchObject([{ code: 'LAZARET_JOURNAL_FULL' }])
    await events.close()
  })

  it('E21: entries that were sealed with another key stay, are reported, and delay no other entry', async () => {
    const { path } = newFile()
    const [lost, known] = [sealed(), sealed()]
    const [first, second] = make.events(2)
    for (const [codec, event] of [
      [lost, first!],
      [known, second!],
    ] as const) {
      const journal = sqliteJournal({ path, codec })
      await journal.append({ event })
      await journal.close()
    }
    const failures: unknown[] = []
    const sent = Promise.withResolvers<readonly LazaretEvent[]>()
    const sink = { write: async (batch: readonly LazaretEvent[]) => sent.resolve(batch) }
    const events = createDispatcher({
      sinks: { sink },
      deadLetters: memoryDeadLetters(),
      journal: sqliteJournal({ path, codec: known }),
      observer: { journalFailed: ({ error }) => failures.push(error) },
    })
    expect(await sent.promise).toEqual([second])
    await events.close()
    expect(failures).toMatchObject([{ code: 'LAZARET_JOURNAL_UNREADABLE', eventId: first!.id }])
    const journal = sqliteJournal({ path, codec: lost })
    expect((await journal.pending()).entries.map(({ event }) => event.id)).toEqual([first!.id])
    await journal.close()
  })

  it('E21: in a damaged file, or none of ours, it says that, and leaves it as it is', async () => {
    const { path } = newFile()
    writeFileSync(path, 'this is no database, but long enough to look like one'.repeat(100))
    const journal = sqliteJournal({ path })
    await expect(journal.append({ event: make.event() })).rejects.toMatchObject({
      code: 'LAZARET_STORE_FOREIGN',
    })
    await journal.close()

    const damaged = newFile()
    const whole = sqliteJournal({ path: damaged.path })
    for (const event of make.events(200)) await whole.append({ event })
    await whole.close()
    const bytes = readFileSync(damaged.path)
    // Everything behind the first page, which says what kind of file it is.
    writeFileSync(damaged.path, bytes.fill(0xff, 16_384))
    const again = sqliteJournal({ path: damaged.path })
    await expect(again.pending()).rejects.toMatchObject({ code: 'LAZARET_STORE_DAMAGED' })
    await again.close()
  })
})
