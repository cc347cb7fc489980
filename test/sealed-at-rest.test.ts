import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileJournal, fileSpill, fileStore } from '../src/adapters/file/index.ts'
import { memoryDeadLetters } from '../src/adapters/memory/index.ts'
import { openSqlite, sqliteJournal } from '../src/adapters/sqlite/index.ts'
import type { Delivery, Undecodable } from '../src/ports/broker.ts'
import type { Codec } from '../src/ports/codec.ts'
import type { Journal } from '../src/ports/journal.ts'
import type { Store } from '../src/ports/store.ts'
import { createFactory } from '../src/testing/factories.ts'
import {
  auditSecrets,
  commandWithSecrets,
  fillWithSecrets,
  reportWithSecrets,
  retryWithSecrets,
  SEALING,
  SECRETS,
} from './support/sealed-at-rest.ts'

const STORES: Record<string, (dir: string, codec?: Codec) => Store> = {
  sqlite: (dir, codec) => openSqlite({ path: join(dir, 'a.db'), codec }),
  file: (dir, codec) => fileStore({ dir, codec }),
}

const SUBSCRIPTION = { channel: 'orders', handler: 'bill', prefetch: 1, ordering: 'none' } as const
const make = createFactory()

async function inFolder(test: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'lazaret-sealed-'))
  try {
    await test(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

function bytesIn(dir: string): string {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}

describe('a sealed store', () => {
  for (const [name, open] of Object.entries(STORES)) {
    it(`B13: ${name} has no text of a payload, key, error, patch or search in any file`, async () => {
      await inFolder(async dir => {
        const store = open(dir, SEALING)
        await fillWithSecrets(store)
        await auditSecrets(store)
        await commandWithSecrets(store)
        await reportWithSecrets(store)
        if (store.broker !== undefined) await retryWithSecrets(store.broker)
        expect(bytesIn(dir)).not.toMatch(SECRETS)
        await store.close()
        expect(bytesIn(dir)).not.toMatch(SECRETS)
      })
    })

    it(`K9: ${name} reads unencrypted records from before sealing was turned on`, async () => {
      await inFolder(async dir => {
        const before = open(dir)
        await fillWithSecrets(before)
        await auditSecrets(before)
        const [letter] = (await before.deadLetters.list()).letters
        await before.close()
        const sealed = open(dir, SEALING)
        expect(await sealed.deadLetters.get(letter!.id)).toEqual(letter)
        expect((await sealed.groups.list()).groups[0]?.title).toContain('hunter2')
        expect((await sealed.replays.list()).flatMap(({ patch }) => patch ?? [])).toMatchObject([
          { value: 'new-secret' },
          { value: { deep: ['new-secret'] } },
        ])
        const [searched] = (await sealed.audit.list({ action: 'letters.search' })).entries
        expect(searched?.detail).toEqual({ search: 'hunter2', letters: 1 })
        await sealed.close()
      })
    })

    it(`K9: ${name} changes no letter without the key, and has all of it later`, async () => {
      await inFolder(async dir => {
        const before = open(dir, SEALING)
        await fillWithSecrets(before)
        const [letter] = (await before.deadLetters.list()).letters
        await before.close()
        const withoutKey = open(dir)
        await expect(
          withoutKey.deadLetters.change(letter!.id, { to: 'discarded', at: letter!.updatedAt + 1 }),
        ).rejects.toThrow("sealed with key 'k1'")
        await withoutKey.close()
        const after = open(dir, SEALING)
        expect(await after.deadLetters.get(letter!.id)).toEqual(letter)
        await after.close()
      })
    })
  }

  it('K9: a handler does not get sealed events without the key', async () => {
    await inFolder(async dir => {
      const before = STORES['sqlite']!(dir, SEALING)
      await (await before.broker!.subscribe(SUBSCRIPTION, () => {})).close()
      await before.broker!.publish([make.event({ channel: SUBSCRIPTION.channel })])
      await before.close()
      const withoutKey = STORES['sqlite']!(dir)
      const { content } = await new Promise<Delivery>(resolve => {
        void withoutKey.broker!.subscribe(SUBSCRIPTION, resolve)
      })
      expect((content as Undecodable).missingKey?.message).toContain("sealed with key 'k1'")
      await withoutKey.close()
    })
  })
})

const JOURNALS: Record<string, (dir: string, codec?: Codec) => Journal> = {
  sqlite: (dir, codec) => sqliteJournal({ path: join(dir, 'j.db'), codec }),
  file: (dir, codec) => fileJournal({ dir, codec }),
}

describe('a sealed journal', () => {
  for (const [name, open] of Object.entries(JOURNALS))
    it(`K9: ${name} keeps its events without the key`, async () => {
      await inFolder(async dir => {
        const entry = { event: make.event() }
        const before = open(dir, SEALING)
        await before.append(entry)
        await before.close?.()
        const withoutKey = open(dir)
        expect(await withoutKey.pending()).toMatchObject({ entries: [], unreadable: [{}] })
        await withoutKey.close?.()
        const after = open(dir, SEALING)
        expect((await after.pending()).entries.map(({ event }) => event)).toEqual([entry.event])
        await after.close?.()
      })
    })
})

describe('a sealed spill', () => {
  it('K9: keeps its letters without the key', async () => {
    await inFolder(async dir => {
      const letter = make.letter()
      const before = fileSpill({ dir, codec: SEALING })
      await before.send(letter)
      await before.close?.()
      const store = memoryDeadLetters()
      const withoutKey = fileSpill({ dir })
      await withoutKey.drain(store).catch(() => 0)
      expect((await store.list()).letters).toEqual([])
      await withoutKey.close?.()
      const after = fileSpill({ dir, codec: SEALING })
      await after.drain(store)
      expect((await store.list()).letters.map(({ event }) => event)).toEqual([letter.event])
      await after.close?.()
    })
  })
})
