import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileJournal, fileSpill, fileStore } from '../../src/adapters/file/index.ts'
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import type { Journal } from '../../src/ports/journal.ts'
import { createSealing } from '../../src/runtime/sealing/sealing.ts'
import { recordingDeadLetters } from '../../src/testing/dead-letters.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { cliWorld } from '../support/cli.ts'
import { withTempFolder } from '../support/folder.ts'
import { continueWork, handlesWaitingEvents } from './continue.ts'
import { readMessages, type StoredMessages } from './messages.ts'
import {
  asJson,
  type FILES,
  inVersion,
  KEEP_FOREVER,
  readJournal,
  readStore,
  SEALING_OF_FIXTURES,
  unpackDatabases,
  writtenVersions,
} from './stored-format.ts'

const codec = createSealing(SEALING_OF_FIXTURES)

async function expected(version: string, name: string): Promise<never> {
  return JSON.parse(await readFile(join(inVersion(version, 'expected'), `${name}.json`), 'utf8')) as never
}

/** Runs with a copy, so that the stored one stays as it was written. */
async function withCopy(version: string, name: keyof typeof FILES, run: (dir: string) => Promise<void>) {
  await withTempFolder(async folder => {
    const path = join(folder, 'copy')
    await cp(inVersion(version, name), path, { recursive: true })
    await unpackDatabases(path)
    await run(path)
  })
}

async function keepsEntries(journal: Journal, entries: object): Promise<void> {
  expect(await readJournal(journal)).toMatchObject(entries)
  const { entries: before } = await journal.pending()
  const event = createFactory({ random: seededRandom(99) }).event()
  await journal.append({ event })
  await journal.remove(before[0]!.event.id)
  const ids = (await journal.pending()).entries.map(entry => entry.event.id)
  expect(ids).toEqual([...before.slice(1).map(entry => entry.event.id), event.id])
}

it('this version keeps stores for later versions; npm run formats writes them', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8'))
  expect(writtenVersions()).toContain(version)
})

describe.each(writtenVersions())('files of version %s', version => {
  it('B10: an SQLite store has everything it had, and works on', async () => {
    await withCopy(version, 'sqlite', async dir => {
      const open = () => openSqlite({ path: join(dir, 'lazaret.db'), codec, ...KEEP_FOREVER })
      const store = open()
      expect(await readStore(store)).toMatchObject(await expected(version, 'sqlite'))
      await keepsEntries(store.journal, await expected(version, 'sqlite-journal'))
      await handlesWaitingEvents(store, store.broker)
      await continueWork(store, store.broker)
      const after = await readStore(store)
      await store.close()
      const again = open()
      expect(await readStore(again)).toEqual(after)
      await again.close()
    })
  })

  it('E10: a file store has everything it had, and works on', async () => {
    await withCopy(version, 'file', async dir => {
      const open = () => fileStore({ dir, codec, retentionMs: 'never' })
      const store = open()
      expect(await readStore(store)).toMatchObject(await expected(version, 'file'))
      await continueWork(store)
      const after = await readStore(store)
      await store.close()
      const again = open()
      expect(await readStore(again)).toEqual(after)
      await again.close()
    })
  })

  it('E17: a file journal has its events, and takes and removes others', async () => {
    await withCopy(version, 'journal', async dir => {
      const journal = fileJournal({ dir })
      await keepsEntries(journal, await expected(version, 'journal'))
      await journal.close()
    })
  })

  it('B7: a spill sends its letters to the store', async () => {
    await withCopy(version, 'spill', async dir => {
      const spill = fileSpill({ dir })
      const target = recordingDeadLetters()
      expect(await spill.drain(target)).toBe(1)
      expect(asJson(target.all)).toMatchObject(await expected(version, 'spill'))
      await spill.close()
    })
  })

  it('B20: messages in brokers, open alerts and reports of processes say what they said', async () => {
    const stored: StoredMessages = JSON.parse(await readFile(inVersion(version, 'messages'), 'utf8'))
    expect(readMessages(stored)).toMatchObject(await expected(version, 'messages'))
  })

  it('F8: the letters of an export are imported', async () => {
    const { lazaretWith, store } = cliWorld()
    const input = await readFile(inVersion(version, 'letters'), 'utf8')
    const ran = await lazaretWith({ input, env: { LAZARET_STORE: 'memory:' } }, 'dlq', 'import')
    expect(ran).toMatchObject({ code: 0 })
    const { letters } = (await expected(version, 'letters')) as { letters: readonly DeadLetter[] }
    expect(asJson((await store.deadLetters.list({ limit: 1_000 })).letters)).toMatchObject(letters)
  })
})
