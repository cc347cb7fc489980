import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withTempFolder } from '../../../test/support/folder.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { openSqlite, type SqliteStore, sqliteLedger } from './index.ts'

const make = createFactory()
const FILES = ['', '-wal', '-shm']

function move(from: string, to: string): void {
  for (const ending of FILES) if (existsSync(from + ending)) renameSync(from + ending, to + ending)
}

function remove(path: string): void {
  for (const ending of FILES) rmSync(path + ending, { force: true })
}

/** Every kind of call that must be durable, or must read what is durable. */
function callsOf({ broker, deadLetters, ledger, journal, audit, snapshots }: SqliteStore) {
  return {
    publish: broker.publish([make.event()]),
    send: deadLetters.send(make.letter()),
    claim: ledger.claim('bill', 'one', 1_000),
    journal: journal.append({ event: make.event() }),
    purge: snapshots.purge(1),
    list: deadLetters.list(),
    audit: audit.list(),
  }
}

async function expectGone(store: SqliteStore, path: string, gone = basename(path)): Promise<void> {
  const calls = Object.entries(callsOf(store))
  const results = await Promise.allSettled(calls.map(([, call]) => call))
  const message = `store ${path}: ${gone} was removed or replaced while it was open; put it back, or restart the service`
  for (const [index, [name]] of calls.entries())
    expect(results[index], name).toMatchObject({
      reason: { name: 'SqliteError', code: 'LAZARET_STORE_FAILED', retryable: true, message },
    })
}

describe.skipIf(process.platform === 'win32')('a database file that is gone while it is open', () => {
  it('K10: after its removal every call fails with the remedy, and no file takes its place', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'shop.db')
      const store = openSqlite({ path })
      await store.deadLetters.send(make.letter())
      remove(path)
      await expectGone(store, path)
      await expectGone(store, path)
      await store.close()
      expect(readdirSync(dir)).toEqual([])
    })
  })

  it('K10: another store of this process on the path does not write to the removed file, and creates none', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'shop.db')
      const store = openSqlite({ path })
      await store.ready()
      remove(path)
      const others = [openSqlite({ path }), openSqlite({ path, busyTimeoutMs: 7 })]
      for (const other of others) await expectGone(other, path)
      expect(readdirSync(dir)).toEqual([])
      for (const each of [store, ...others]) await each.close()
      const next = openSqlite({ path })
      await next.deadLetters.send(make.letter())
      expect(await next.deadLetters.stats()).toMatchObject({ count: 1 })
      await next.close()
    })
  })

  it('K10: a file that comes back has all acknowledged data, and the store continues', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'shop.db')
      const store = openSqlite({ path })
      const [before, refused, after] = [make.letter(), make.letter(), make.letter()]
      await store.deadLetters.send(before)
      move(path, join(dir, 'moved.db'))
      await expect(store.deadLetters.send(refused)).rejects.toThrow('put it back')
      move(join(dir, 'moved.db'), path)
      await store.deadLetters.send(after)
      const ids = [before.id, after.id].sort()
      expect((await store.deadLetters.list()).letters.map(({ id }) => id).sort()).toEqual(ids)
      await store.close()
      const later = openSqlite({ path })
      expect((await later.deadLetters.list()).letters.map(({ id }) => id).sort()).toEqual(ids)
      await later.close()
    })
  })

  it('K10: another database in its place is neither read nor written, also when the writing thread is new', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'shop.db')
      const copy = join(dir, 'copy.db')
      const restored = openSqlite({ path: copy })
      await restored.deadLetters.send(make.letter())
      await restored.close()
      const store = openSqlite({ path })
      await store.ready()
      await rename(copy, path)
      await expectGone(store, path)
      const other = openSqlite({ path, clock: new FakeClock() })
      await expectGone(other, path)
      await store.close()
      await other.close()
      const again = openSqlite({ path })
      expect(await again.deadLetters.stats()).toMatchObject({ count: 1 })
      await again.close()
    })
  })

  it('K10: a copy that was put in its place alone does not get the old write-ahead log', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'shop.db')
      const store = openSqlite({ path })
      await store.deadLetters.send(make.letter())
      await store.close()
      copyFileSync(path, join(dir, 'copy.db'))
      const service = openSqlite({ path })
      for (let count = 0; count < 20; count++) await service.deadLetters.send(make.letter())
      renameSync(path, join(dir, 'old.db'))
      renameSync(join(dir, 'copy.db'), path)
      await expectGone(service, path)
      expect(statSync(`${path}-wal`).size).toBe(0)
      await service.close()
      for (const [name, count] of Object.entries({ [path]: 1, [join(dir, 'old.db')]: 21 })) {
        const found = openSqlite({ path: name })
        expect(await found.deadLetters.stats()).toMatchObject({ count })
        await found.close()
      }
    })
  })

  it('K10: a removed write-ahead log is noticed within a second, and closing saves what it had', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'shop.db')
      const clock = new FakeClock()
      const store = openSqlite({ path, clock })
      const letter = make.letter()
      await store.deadLetters.send(letter)
      rmSync(`${path}-wal`)
      await clock.advance(1_000)
      await expectGone(store, path, 'shop.db-wal')
      await store.close()
      const later = openSqlite({ path })
      expect((await later.deadLetters.list()).letters).toMatchObject([{ id: letter.id }])
      await later.close()
    })
  })

  it('K10: a symbolic link stands for its target: the link may not point elsewhere, the target may not go', async () => {
    await withTempFolder(async dir => {
      const [link, target, other] = [join(dir, 'link.db'), join(dir, 'target.db'), join(dir, 'other.db')]
      const ledger = sqliteLedger({ path: target })
      await ledger.claim('bill', 'first', 1_000)
      await ledger.close()
      const second = sqliteLedger({ path: other })
      await second.claim('bill', 'first', 1_000)
      await second.close()
      symlinkSync(target, link)
      const store = openSqlite({ path: link })
      await store.broker.publish([make.event()])
      rmSync(link)
      symlinkSync(other, link)
      await expectGone(store, link)
      rmSync(link)
      symlinkSync(target, link)
      await store.broker.publish([make.event()])
      move(target, join(dir, 'moved.db'))
      await expectGone(store, link)
      await store.close()
      expect(existsSync(target)).toBe(false)
    })
  })

  it('K10, F6: its consumer says why it gets nothing, and handles every accepted event when the file is back', async () => {
    await withTempFolder(async dir => {
      const path = join(dir, 'shop.db')
      const store = openSqlite({ path })
      const stalled = Promise.withResolvers<unknown>()
      const recovered = Promise.withResolvers<void>()
      const all = Promise.withResolvers<void>()
      const moved = Promise.withResolvers<void>()
      const failed = Promise.withResolvers<void>()
      const handled = new Set<unknown>()
      let isMoved = false
      const consumer = createConsumer({
        broker: store.broker,
        channel: 'orders',
        name: 'bill',
        leaveOpen: true,
        observer: {
          subscriptionStalled: ({ error }) => stalled.resolve(error),
          subscriptionRecovered: () => recovered.resolve(),
          settlementFailed: () => failed.resolve(),
        },
        async handle({ payload }) {
          // The file goes while this event is being handled, so that its settlement fails.
          if (payload === 1 && !isMoved) {
            isMoved = true
            move(path, join(dir, 'moved.db'))
            moved.resolve()
            await stalled.promise
          }
          handled.add(payload)
          if (handled.size === 2) all.resolve()
        },
      })
      await consumer.start()
      await store.broker.publish([make.event({ channel: 'orders', payload: 1 })])
      await moved.promise
      await expect(store.broker.publish([make.event({ channel: 'orders', payload: 9 })])).rejects.toThrow(
        'put it back, or restart the service',
      )
      const { message } = (await stalled.promise) as Error
      expect(message).toContain(`${path}: shop.db was removed or replaced while it was open`)
      expect(consumer.health().stalls).toEqual([{ place: 'deliveries', problem: message }])
      await failed.promise
      expect(consumer.health().settlementFailures).toBe(1)
      move(join(dir, 'moved.db'), path)
      await recovered.promise
      expect(consumer.health().stalls).toBeUndefined()
      await store.broker.publish([make.event({ channel: 'orders', payload: 2 })])
      await all.promise
      await consumer.close()
      expect(await store.broker.depth('orders', 'bill')).toBe(0)
      await store.close()
    })
  })
})
