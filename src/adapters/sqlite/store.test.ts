import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { SqliteFile } from '../../../test/support/sqlite-file.ts'
import { OptionsError } from '../../core/options/faults.ts'
import { systemClock, yieldToEventLoop } from '../../ports/clock.ts'
import { plainCodec } from '../../ports/codec.ts'
import { createFactory } from '../../testing/factories.ts'
import { Thread } from './connection/thread.ts'
import type { WriteParts } from './connection/writer.ts'
import { openSqlite, sqliteDeadLetters, sqliteLedger } from './index.ts'

const make = createFactory()
const files: SqliteFile[] = []
function newFile(): SqliteFile {
  const file = new SqliteFile()
  files.push(file)
  return file
}
afterEach(() => {
  for (const file of files.splice(0)) file.remove()
})

describe('opening a sqlite store', () => {
  it('F7: tells every fault of its options at once', () => {
    const options = { path: ':memory:', leaseMs: 1, codec: {} as never }
    expect(() => openSqlite(options)).toThrow(OptionsError)
    expect(() => openSqlite(options)).toThrow(/3 faults/)
  })

  it('K10: refuses a file that is not a database, and leaves it as it is', async () => {
    const { path } = newFile()
    writeFileSync(path, 'this is no database, but long enough to look like one'.repeat(100))
    const store = openSqlite({ path })
    await expect(store.ready()).rejects.toMatchObject({ code: 'LAZARET_STORE_FOREIGN', path })
    await expect(store.deadLetters.list()).rejects.toThrow('give the path of a Lazaret store')
    await store.close()
  })

  it('K10: opens in a program that is the text of an option', () => {
    const { path } = newFile()
    const program = `
      import { openSqlite } from '${new URL('index.ts', import.meta.url)}'
      const store = openSqlite({ path: ${JSON.stringify(path)} })
      await store.ready()
      await store.close()
      console.log('opened')`
    const words = ['--no-warnings', '--input-type=module', '--eval', program]
    expect(execFileSync(process.execPath, words, { encoding: 'utf8' })).toBe('opened\n')
  })

  it("K10: refuses another application's database", async () => {
    const file = newFile()
    file.with(db => db.exec('create table users(id integer)'))
    const store = openSqlite({ path: file.path })
    await expect(store.ready()).rejects.toMatchObject({ code: 'LAZARET_STORE_FOREIGN', retryable: false })
    await store.close()
    expect(file.with(db => db.prepare('pragma journal_mode').get())).toEqual({ journal_mode: 'delete' })
  })

  it('K10: refuses the file of a newer version, and says so', async () => {
    const file = newFile()
    const first = openSqlite({ path: file.path })
    await first.ready()
    await first.close()
    file.with(db => db.exec('pragma user_version = 99'))
    const store = openSqlite({ path: file.path })
    await expect(store.ready()).rejects.toMatchObject({ code: 'LAZARET_STORE_NEWER' })
    await expect(store.ready()).rejects.toThrow('update Lazaret')
    await store.close()
  })

  it.each(['letters', 'open', 'ledger', 'audit'])(
    'K10: refuses a file that lacks its table %s, instead of waiting for the first call that needs it',
    async table => {
      const file = newFile()
      const first = openSqlite({ path: file.path })
      await first.ready()
      await first.close()
      file.with(db => db.exec(`drop table "${table}"`))
      const store = openSqlite({ path: file.path })
      await expect(store.ready()).rejects.toMatchObject({ code: 'LAZARET_STORE_DAMAGED' })
      await expect(store.ready()).rejects.toThrow(`these tables are missing: ${table}`)
      await store.close()
    },
  )

  it('K10: says that a folder is missing, and works once it is there', async () => {
    const file = newFile()
    const store = openSqlite({ path: `${file.path}-missing/test.db` })
    await expect(store.ready()).rejects.toMatchObject({ code: 'LAZARET_STORE_FAILED' })
    mkdirSync(`${file.path}-missing`)
    await store.ready()
    await store.close()
  })
})

describe('a sqlite store', () => {
  it('what is opened on one file shares its threads, and the last to close ends them', async () => {
    const { path } = newFile()
    const workers: Worker[] = []
    const see = (worker: Worker) => workers.push(worker)
    process.on('worker', see)
    const [letters, ledger] = [sqliteDeadLetters({ path }), sqliteLedger({ path })]
    await letters.send(make.letter())
    await ledger.claim('bill', 'charge-1', 1_000)
    process.off('worker', see)
    expect(workers).toHaveLength(1)
    await ledger.close()
    expect((await letters.list()).letters).toHaveLength(1)
    await letters.close()
    expect(workers[0]!.threadId).toBe(-1)
    await expect(ledger.claim('bill', 'charge-1', 1)).rejects.toMatchObject({ code: 'LAZARET_STORE_CLOSED' })
  })

  it('K10: close flushes what was sent', async () => {
    const { path } = newFile()
    const letters = sqliteDeadLetters({ path })
    const sent = Array.from({ length: 100 }, () => letters.send(make.letter()))
    await letters.close()
    await Promise.all(sent)
  })

  it('E21: waiting for another process holds up the request, never the event loop', async () => {
    const file = newFile()
    const store = openSqlite({ path: file.path })
    await store.ready()
    const other = new DatabaseSync(file.path)
    other.exec('begin immediate')
    let isSent = false
    const sent = store.deadLetters.send(make.letter()).then(() => {
      isSent = true
    })
    let longestMs = 0
    const until = systemClock.now() + 150
    for (let before = systemClock.now(); before < until; ) {
      await yieldToEventLoop()
      longestMs = Math.max(longestMs, systemClock.now() - before)
      before = systemClock.now()
    }
    expect(isSent).toBe(false)
    // Reading goes on while nobody can write.
    expect((await store.deadLetters.list()).letters).toEqual([])
    // Waiting here would last as long as the lock does, and the lock is released only below.
    expect(longestMs).toBeLessThan(1_000)
    other.exec('rollback')
    other.close()
    await sent
    await store.close()
  })

  it('E21: a thread that cannot start says so, and what to check', async () => {
    // Options refuse such a path; the thread fails of it before it is open.
    const thread = new Thread<WriteParts>({ path: 'a\0b', role: 'write', busyTimeoutMs: 0 }, {}, systemClock)
    await expect(thread.call('broker', 'poll')).rejects.toThrow(/could not start: .*check the disk/)
  })

  it('E21: a thread that cannot be made, as in a bundle, rejects the calls instead of ending the process', async () => {
    // A function cannot be sent to a thread.
    const data = { path: 'a.db', role: 'write', busyTimeoutMs: 0, extra: () => {} } as const
    const thread = new Thread<WriteParts>(data, {}, systemClock)
    await expect(thread.call('broker', 'poll')).rejects.toThrow(/could not start: .*out of bundles/)
  })

  it('E21: a lock that is not released becomes an error that says so; then the call can be repeated', async () => {
    const file = newFile()
    const store = openSqlite({ path: file.path, busyTimeoutMs: 20 })
    await store.ready()
    const other = new DatabaseSync(file.path)
    other.exec('begin immediate')
    const letter = make.letter()
    const sending = Promise.allSettled([
      store.deadLetters.send(letter),
      store.deadLetters.send(make.letter()),
    ])
    for (const each of await sending)
      expect(each).toMatchObject({ reason: { code: 'LAZARET_STORE_LOCKED', retryable: true } })
    other.exec('rollback')
    other.close()
    await store.deadLetters.send(letter)
    expect((await store.deadLetters.list()).letters).toEqual([letter])
    await store.close()
  })

  it('K10: a request that fails takes none of its neighbours with it', async () => {
    const file = newFile()
    const store = openSqlite({ path: file.path })
    await store.ready()
    file.with(db =>
      db.exec(`create trigger refuse before insert on letters when new.search like '%refuse me%'
               begin select raise(abort, 'refused'); end`),
    )
    const good = Array.from({ length: 20 }, () => make.letter())
    const bad = make.letter({ error: new Error('refuse me') })
    const sending = [...good.slice(0, 10), bad, ...good.slice(10)].map(each => store.deadLetters.send(each))
    const outcomes = await Promise.allSettled(sending)
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...Array(10).fill('fulfilled'),
      'rejected',
      ...Array(10).fill('fulfilled'),
    ])
    await expect(sending[10]).rejects.toThrow('refused')
    expect((await store.deadLetters.stats()).count).toBe(20)
    await store.close()
  })

  it('K10: when a thread dies, requests under way reject and a consumer goes on with the next one', async () => {
    const file = newFile()
    const started = new Promise<Worker>(resolve => process.once('worker', resolve))
    const store = openSqlite({ path: file.path, leaseMs: 60, maxPollMs: 10 })
    const arrived: string[] = []
    let next: (() => void) | undefined
    const subscription = await store.broker.subscribe(
      { channel: 'orders', handler: 'bill', prefetch: 1, ordering: 'none' },
      ({ content }) => {
        arrived.push('id' in content ? content.id : '')
        next?.()
      },
    )
    const [event] = make.events(1)
    const arrival = () =>
      new Promise<void>(resolve => {
        next = resolve
      })
    const first = arrival()
    await store.broker.publish([event!])
    await first
    const again = arrival()
    const claim = store.ledger.claim('bill', 'key', 1_000)
    await (await started).terminate()
    await expect(claim).rejects.toMatchObject({ code: 'LAZARET_STORE_FAILED' })
    await again
    expect(arrived).toEqual([event!.id, event!.id])
    await subscription.close()
    await store.close()
  })

  it('P2: letters and events are written with the codec, and can still be searched', async () => {
    const file = newFile()
    const seal = (text: string) => Buffer.from(text).toString('base64')
    const open = (text: string) => Buffer.from(text, 'base64').toString()
    const { letters, events } = plainCodec
    const codec = {
      letters: { encode: l => seal(letters.encode(l)), decode: text => letters.decode(open(text)) },
      events: { encode: e => seal(events.encode(e)), decode: text => events.decode(open(text)) },
    } satisfies typeof plainCodec
    const store = openSqlite({ path: file.path, codec })
    const event = make.event({ payload: { secret: 'hush' } })
    const letter = make.letter({ event })
    await store.deadLetters.send(letter)
    await store.deadLetters.send(letter)
    await store.broker.publish([event])
    expect((await store.deadLetters.list({ search: 'econnrefused' })).letters).toEqual([letter])
    await store.deadLetters.change(letter.id, { to: 'parked', at: letter.updatedAt })
    expect((await store.deadLetters.get(letter.id))?.state).toBe('parked')
    const stored = file.with(db => [
      db.prepare('select * from letters').get(),
      db.prepare('select * from events').get(),
    ])
    expect(JSON.stringify(stored)).not.toContain('hush')
    await store.close()
  })
})
