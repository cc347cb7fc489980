import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { FileGoneError } from '../../../adapter-kit/opened-file.ts'
import { FilesInPlace, requireFile } from './files-in-place.ts'
import type { Failure, ThreadData } from './messages.ts'
import { makePrivate } from './private-file.ts'
import { APPLICATION_ID, MIGRATIONS, TABLES } from './schema.ts'

const BUSY = 5
const FIRST_TRY_MS = 1
const MAX_WAIT_MS = 50

/** Node 22 binds a list of no bytes as null, unless it is a part of others. */
const NO_BYTES = new Uint8Array(1).subarray(1)

function bindable(value: SQLInputValue): SQLInputValue {
  return ArrayBuffer.isView(value) && value.byteLength === 0 ? NO_BYTES : value
}

/**
 * The database as one thread sees it. A statement is a tagged template, ``db.run`delete from dead where event = ${id}` ``:
 * its values are bound, never pasted, and it is prepared once for the place in the code that it stands in. The schema
 * says what a row looks like: no code checks it again.
 */
export class Database {
  readonly files: FilesInPlace
  readonly #db: DatabaseSync
  readonly #statements = new Map<TemplateStringsArray | string, StatementSync>()

  constructor(db: DatabaseSync, files: FilesInPlace) {
    this.#db = db
    this.files = files
  }

  /** Answers how many rows it changed. */
  run(sql: TemplateStringsArray, ...values: readonly SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values.map(bindable)).changes)
  }

  /** The first row. */
  get<Row>(sql: TemplateStringsArray, ...values: readonly SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined
  }

  all<Row>(sql: TemplateStringsArray, ...values: readonly SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values) as Row[]
  }

  /** Row by row, for a reader that may stop early; the text is put together by the caller. */
  select<Row>(sql: string, ...values: readonly SQLInputValue[]): Iterable<Row> {
    // node:sqlite cannot know the columns of a query; the caller names them as `Row`.
    return this.#statement(sql).iterate(...values) as unknown as Iterable<Row>
  }

  close(): void {
    this.#db.close()
  }

  #statement(sql: TemplateStringsArray | string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(typeof sql === 'string' ? sql : sql.join('?'))
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/** The file is a database, but none that this version may work with. */
class UnusableFile extends Error {
  readonly kind: 'newer' | 'foreign' | 'damaged'

  constructor(kind: UnusableFile['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** Opens the file for one of the two threads; the writing one makes it what this version needs. */
export function openDatabase({ path, role, busyTimeoutMs, opened }: ThreadData): Database {
  // A file that was removed must not be replaced by an empty one.
  if (opened === undefined) makePrivate(path)
  else requireFile(opened)
  const db = new DatabaseSync(path, { readOnly: role === 'read' })
  try {
    db.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
    if (role === 'write') migrate(db, busyTimeoutMs)
    requireTables(db)
    // Every commit waits for the disk, so an answered write is durable.
    db.exec('pragma synchronous = full; pragma cache_size = -4000; pragma temp_store = memory')
    requireFile(opened)
    return new Database(db, new FilesInPlace(path))
  } catch (error) {
    db.close()
    throw error
  }
}

function migrate(db: DatabaseSync, busyTimeoutMs: number): void {
  requireApplicationId(db)
  // Two processes that open a new file at once may meet here, where SQLite does not wait by itself.
  retryWhileBusy(busyTimeoutMs, () => {
    // Letters are larger than most rows, so larger pages waste less; it counts for a new file only.
    db.exec('pragma page_size = 16384')
    const { journal_mode: mode } = db.prepare('pragma journal_mode = wal').get() as { journal_mode: string }
    if (mode !== 'wal')
      throw new UnusableFile(
        'foreign',
        `its file system does not support write-ahead logging (journal mode ${mode})`,
      )
  })
  if (pragma(db, 'user_version') === MIGRATIONS.length) return
  db.exec('begin immediate')
  try {
    requireApplicationId(db)
    for (const step of MIGRATIONS.slice(pragma(db, 'user_version'))) db.exec(step)
    db.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${MIGRATIONS.length}`)
    db.exec('commit')
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}

function requireApplicationId(db: DatabaseSync): void {
  const { tables } = db.prepare('select count(*) as tables from sqlite_schema').get() as { tables: number }
  const application = pragma(db, 'application_id')
  if (application !== APPLICATION_ID && (tables > 0 || application !== 0))
    throw new UnusableFile('foreign', 'it belongs to another application')
  const version = pragma(db, 'user_version')
  if (version > MIGRATIONS.length)
    throw new UnusableFile(
      'newer',
      `it has schema version ${version}, and this release supports up to ${MIGRATIONS.length}`,
    )
}

/**
 * Checks that all tables exist. Statements are prepared at their first use, so a missing table would otherwise appear in
 * a later call, perhaps in one that nobody awaits.
 */
function requireTables(db: DatabaseSync): void {
  const rows = db.prepare("select name from sqlite_schema where type = 'table'").all()
  const found = new Set(rows.map(({ name }) => name))
  const missing = TABLES.filter(table => !found.has(table))
  if (missing.length > 0) throw new UnusableFile('damaged', `these tables are missing: ${missing.join(', ')}`)
}

function pragma(db: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0])
}

function retryWhileBusy(timeoutMs: number, task: () => void): void {
  let waitedMs = 0
  for (let waitMs = FIRST_TRY_MS; ; waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)) {
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
function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : undefined
}

export function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof UnusableFile) return { kind: error.kind, message }
  if (error instanceof FileGoneError) return { kind: 'gone', message }
  const errcode = primaryCode(error)
  if (errcode !== undefined) return { kind: 'sqlite', message, errcode }
  return { kind: 'bug', message, stack: error instanceof Error ? error.stack : undefined }
}
