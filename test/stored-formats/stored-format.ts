import { readdirSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Journal, Store } from 'lazaret'
import { filesBelow } from '../support/folder.ts'
import { ROOT } from '../support/source.ts'

/** A folder for each version that wrote stores. A folder is never changed after its version was published. */
export const FORMATS = join(ROOT, 'test/fixtures/stored-formats')
export const FILES = {
  sqlite: 'sqlite',
  file: 'file-store',
  postgres: 'postgres.sql',
  redis: 'redis.jsonl',
  journal: 'journal',
  spill: 'spill',
  letters: 'letters.jsonl',
  messages: 'messages.json',
} as const

/** The key of the sealed letters. It protects nothing: everybody can read it here. */
export const SEALING_OF_FIXTURES = {
  current: 'fixtures',
  keys: { fixtures: Buffer.alloc(32, 7).toString('base64') },
} as const

/** The options of the stores that are time-dependent otherwise: nothing expires. */
export const KEEP_FOREVER = { ledgerRetentionMs: 50 * 365 * 86_400_000 } as const

/** The pair that the ledger of each store has done. */
export const DONE = { handler: 'bill', key: 'charge-1' } as const

/** The versions that wrote stores, oldest first. */
export function writtenVersions(): string[] {
  return readdirSync(FORMATS).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
}

export function inVersion(version: string, name: keyof typeof FILES | 'expected'): string {
  return name === 'expected' ? join(FORMATS, version, 'expected') : join(FORMATS, version, FILES[name])
}

/** A database of a few letters is large and mostly empty, so the databases of a folder are kept compressed. */
export async function packDatabases(folder: string): Promise<void> {
  for (const path of await filesBelow(folder, '.db')) {
    await writeFile(`${path}.gz`, gzipSync(await readFile(path), { level: 9 }))
    await rm(path)
  }
}

export async function unpackDatabases(folder: string): Promise<void> {
  for (const path of await filesBelow(folder, '.db.gz'))
    await writeFile(path.replace(/\.gz$/, ''), gunzipSync(await readFile(path)))
}

/** Everything that people see of a store, as JSON. */
export async function readStore(store: Store): Promise<unknown> {
  const { deadLetters, groups, replays, audit, snapshots } = store
  const listed = await replays.list()
  return asJson({
    letters: (await deadLetters.list({ limit: 1_000 })).letters,
    stats: await deadLetters.stats(),
    groups: (await groups.list()).groups,
    replays: listed,
    items: await Promise.all(listed.map(({ id }) => replays.items(id))),
    counts: await Promise.all(listed.map(({ id }) => replays.counts(id))),
    audit: (await audit.list({ limit: 1_000 })).entries,
    snapshots: await snapshots.list({ perChannel: 100 }),
  })
}

export async function readJournal(journal: Journal): Promise<unknown> {
  const { entries, unreadable } = await journal.pending()
  return asJson({ entries, unreadable: unreadable.length })
}

/** Payloads of bytes become objects, so that they can be compared as JSON. */
export function asJson(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_name, part) =>
      part instanceof Uint8Array ? { base64: Buffer.from(part).toString('base64') } : part,
    ),
  )
}
