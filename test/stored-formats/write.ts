// Writes a store of each kind with the built package, and keeps it for the tests of later versions: npm run formats.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Codec, createSealing, type Journal, type Store } from 'lazaret'
import { fileJournal, fileSpill, fileStore } from 'lazaret/file'
import { migratePostgres, openPostgres } from 'lazaret/postgres'
import { openRedis, redisStreams } from 'lazaret/redis'
import { openSqlite } from 'lazaret/sqlite'
import { createFactory, FakeClock } from 'lazaret/testing'
import { Pool } from 'pg'
import { findPostgres } from '../services/postgres.ts'
import { findRedis } from '../services/redis.ts'
import { ROOT } from '../support/source.ts'
import { writeLine } from '../support/write-line.ts'
import { addSealedLetter, fillBroker, fillStore } from './content.ts'
import { readMessages, writeMessages } from './messages.ts'
import { dumpDatabase } from './postgres-dump.ts'
import { dumpKeys } from './redis-keys.ts'
import {
  inVersion,
  KEEP_FOREVER,
  packDatabases,
  readJournal,
  readStore,
  SEALING_OF_FIXTURES,
} from './stored-format.ts'

const run = promisify(execFile)
const codec = createSealing(SEALING_OF_FIXTURES)
const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
const path = (name: Parameters<typeof inVersion>[1]) => inVersion(version, name)
if (existsSync(join(path('expected'), '..'))) {
  writeLine(`The stores of version ${version} exist. A published version keeps its stores unchanged.`)
  process.exit(1)
}
await mkdir(path('expected'), { recursive: true })

async function expectLater(name: string, content: unknown): Promise<void> {
  await writeFile(join(path('expected'), `${name}.json`), `${JSON.stringify(content, undefined, 1)}\n`)
}

/** Fills a store, and notes what this version reads from it. The last letter is written with a key. */
async function writeStore(name: string, open: (codec?: Codec) => Store): Promise<void> {
  const plain = open()
  await fillStore(plain)
  if (plain.broker !== undefined) await fillBroker(plain.broker, plain)
  await plain.close()
  const sealed = open(codec)
  await addSealedLetter(sealed)
  await expectLater(name, await readStore(sealed))
  await sealed.close()
}

async function writeSqlite(): Promise<void> {
  const file = join(path('sqlite'), 'lazaret.db')
  await mkdir(path('sqlite'))
  await writeStore('sqlite', more => openSqlite({ path: file, ...KEEP_FOREVER, codec: more }))
  const store = openSqlite({ path: file })
  await writeJournal('sqlite-journal', store.journal)
  await store.close()
}

async function writeJournal(name: string, journal: Journal): Promise<void> {
  const [first, second] = createFactory({ clock: new FakeClock() }).events(2)
  await journal.append({ event: first!, sinks: ['loki'], job: 'nightly' })
  await journal.append({ event: second! })
  await expectLater(name, await readJournal(journal))
}

async function writeFiles(): Promise<void> {
  await writeStore('file', more => fileStore({ dir: path('file'), retentionMs: 'never', codec: more }))
  const journal = fileJournal({ dir: path('journal') })
  await writeJournal('journal', journal)
  await journal.close()
  const spill = fileSpill({ dir: path('spill') })
  const letter = createFactory({ clock: new FakeClock() }).letter()
  await spill.send(letter)
  await spill.close()
  await expectLater('spill', [letter])
}

/** The functions that write messages are not exported by the package, so these come from its source. */
async function writeBrokerMessages(): Promise<void> {
  const messages = writeMessages()
  await writeFile(path('messages'), `${JSON.stringify(messages, undefined, 1)}\n`)
  await expectLater('messages', readMessages(messages))
}

async function writePostgres(): Promise<void> {
  const found = await findPostgres()
  if (!found.found) throw new Error(found.why)
  const server = await found.start()
  const pool = new Pool({ connectionString: server.url })
  await migratePostgres(pool)
  await writeStore('postgres', more => openPostgres({ pool, ...KEEP_FOREVER, codec: more }))
  await writeFile(path('postgres'), await dumpDatabase(server.url))
  await pool.end()
  await server.close()
}

async function writeRedis(): Promise<void> {
  const found = await findRedis()
  if (!found.found) throw new Error(found.why)
  const server = await found.start({ appendfsync: 'no' })
  const options = { url: server.url, retentionMs: 'never', ...KEEP_FOREVER } as const
  const broker = redisStreams({ url: server.url, retentionMs: 'never' })
  await writeStore('redis', more => ({ ...openRedis({ ...options, codec: more }), broker }))
  await broker.close()
  await writeFile(path('redis'), await dumpKeys(server.url))
  await server.close()
}

/** The file of `lazaret dlq export`, from a copy of the SQLite store. */
async function writeExport(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-formats-'))
  const store = openSqlite({ path: join(folder, 'lazaret.db') })
  await fillStore(store)
  await expectLater('letters', await readStore(store))
  await store.close()
  const words = [join(ROOT, 'dist/cli/main.js'), 'dlq', 'export', '--store', `sqlite:${folder}/lazaret.db`]
  const { stdout } = await run(process.execPath, words)
  await writeFile(path('letters'), stdout)
  await rm(folder, { recursive: true })
}

await writeSqlite()
await writeFiles()
await writeExport()
await writeBrokerMessages()
await packDatabases(join(path('expected'), '..'))
await writePostgres()
await writeRedis()
writeLine(`The stores of version ${version} are written.`)
