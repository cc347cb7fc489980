import { DatabaseSync } from 'node:sqlite'
import type { ThreadData, Trouble } from './calls.ts'
import { makePrivate } from './private-file.ts'
import { APPLICATION_ID, MIGRATIONS } from './schema.ts'

const BUSY = 5
const FIRST_TRY_MS = 1
const LONGEST_WAIT_MS = 50

/** The file is a database, but none that this version may work with. */
export class UnusableFile extends Error {
  readonly kind: 'newer' | 'foreign'

  constructor(kind: 'newer' | 'foreign', message: string) {
    super(message)
    this.kind = kind
  }
}

/** Opens the file for one of the two threads; the writing one makes it what this version needs. */
export function openDatabase({ path, role, busyTimeoutMs }: ThreadData): DatabaseSync {
  makePrivate(path)
  const db = new DatabaseSync(path)
  try {
    db.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
    if (role === 'write') migrate(db, busyTimeoutMs)
    // Every commit waits for the disk: what is answered is durable.
    db.exec('pragma synchronous = full; pragma cache_size = -4000; pragma temp_store = memory')
    if (role === 'read') db.exec('pragma query_only = on')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function migrate(db: DatabaseSync, busyTimeoutMs: number): void {
  requireOurs(db)
  // Two processes that open a new file at once may meet here, where SQLite does not wait by itself.
  untilFree(busyTimeoutMs, () => {
    // Letters are larger than most rows, so larger pages waste less; it counts for a new file only.
    db.exec('pragma page_size = 16384')
    const { journal_mode: mode } = db.prepare('pragma journal_mode = wal').get() as { journal_mode: string }
    if (mode !== 'wal') throw new UnusableFile('foreign', `its file system has no write-ahead log (${mode})`)
  })
  if (pragma(db, 'user_version') === MIGRATIONS.length) return
  db.exec('begin immediate')
  try {
    requireOurs(db)
    for (const step of MIGRATIONS.slice(pragma(db, 'user_version'))) db.exec(step)
    db.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${MIGRATIONS.length}`)
    db.exec('commit')
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}

function requireOurs(db: DatabaseSync): void {
  const { tables } = db.prepare('select count(*) as tables from sqlite_schema').get() as { tables: number }
  const application = pragma(db, 'application_id')
  if (application !== APPLICATION_ID && (tables > 0 || application !== 0))
    throw new UnusableFile('foreign', 'it is the database of another application')
  const version = pragma(db, 'user_version')
  if (version > MIGRATIONS.length)
    throw new UnusableFile(
      'newer',
      `it has version ${version}, and this one reads up to ${MIGRATIONS.length}`,
    )
}

function pragma(db: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0])
}

function untilFree(timeoutMs: number, task: () => void): void {
  let waitedMs = 0
  for (let waitMs = FIRST_TRY_MS; ; waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)) {
    try {
      task()
      return
    } catch (error) {
      if (primaryCode(error) !== BUSY || waitedMs >= timeoutMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs)
      waitedMs += waitMs
    }
  }
}

/** SQLite's result code without its details; undefined for errors that are not SQLite's. */
export function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : undefined
}

export function troubleOf(error: unknown): Trouble {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof UnusableFile) return { kind: error.kind, message }
  const errcode = primaryCode(error)
  if (errcode !== undefined) return { kind: 'sqlite', message, errcode }
  return { kind: 'bug', message, stack: error instanceof Error ? error.stack : undefined }
}
