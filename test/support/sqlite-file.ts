import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteLedger } from '../../src/adapters/sqlite/index.ts'
import type { Clock } from '../../src/ports/clock.ts'

/** A database file in a folder of its own. */
export class SqliteFile {
  readonly path: string
  readonly #folder: string

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'lazaret-sqlite-'))
    this.path = join(this.#folder, 'test.db')
  }

  /** As another program would use the file. */
  with<T>(work: (db: DatabaseSync) => T): T {
    const db = new DatabaseSync(this.path)
    try {
      db.exec('pragma busy_timeout = 5000')
      return work(db)
    } finally {
      db.close()
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Keeps the threads of a file running between tests, because starting them takes longer than most tests. */
export class KeptSqliteFile extends SqliteFile {
  readonly clock: Clock
  #keeper

  constructor(clock: Clock) {
    super()
    this.clock = clock
    this.#keeper = sqliteLedger({ path: this.path, clock })
  }

  /** All stores are closed by now: this is the end of the process. */
  async restart(): Promise<void> {
    await this.#keeper.close()
    this.#keeper = sqliteLedger({ path: this.path, clock: this.clock })
  }

  /** As if it were new; only numbers go on, since they are never given twice. */
  clear(): void {
    this.with(db => {
      const tables = db.prepare(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'",
      )
      db.exec('begin immediate')
      for (const { name } of tables.all()) if (name !== 'counters') db.exec(`delete from ${name}`)
      db.exec('commit')
    })
  }

  async close(): Promise<void> {
    await this.#keeper.close()
    this.remove()
  }
}
