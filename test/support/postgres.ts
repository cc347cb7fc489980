import { Pool } from 'pg'
import { migratePostgres } from '../../src/adapters/postgres/index.ts'
import { TestTiming, uniqueName } from '../../src/testing/conformance/harness.ts'
import type { PostgresService } from '../services/postgres.ts'

/** Clients that never disconnect are a fault of their test, and hold up its end for no longer. */
const timing = new TestTiming({})

/** A database of its own on a server for tests. */
export class TestDatabase {
  readonly url: string
  readonly pool: Pool
  readonly #server: PostgresService
  readonly #name: string

  private constructor(server: PostgresService, name: string) {
    const url = new URL(server.url)
    url.pathname = `/${name}`
    this.url = url.href
    this.pool = new Pool({ connectionString: this.url, max: 20 })
    // A server that is killed takes its connections with it.
    this.pool.on('error', () => {})
    this.pool.on('connect', client => client.on('error', () => {}))
    this.#server = server
    this.#name = name
  }

  /** Without a schema. */
  static async empty(server: PostgresService): Promise<TestDatabase> {
    const name = uniqueName('test').replaceAll('-', '_')
    await onServer(server, `create database ${name}`)
    return new TestDatabase(server, name)
  }

  static async migrated(server: PostgresService): Promise<TestDatabase> {
    const database = await TestDatabase.empty(server)
    // Where the server has the extension, searches of the tests use its index.
    await database.pool.query('create extension if not exists pg_trgm').catch(() => {})
    await migratePostgres(database.pool)
    return database
  }

  async rows<T>(text: string, values: unknown[] = []): Promise<T[]> {
    return (await this.pool.query(text, values)).rows
  }

  /** Rows of so many letters, without their events. */
  async addLetterRows(count: number): Promise<void> {
    await this.pool.query(
      `insert into lazaret.dead_letters (id, channel, handler, event_id, type, reason, category, state, group_id, attempts,
         replays, search, body, first_failed_at, last_failed_at, created_at, updated_at)
       select n, 'orders', 'bill', n, 'order.placed', 'attempts_exhausted', 'transient', 'dead', 'g', 1, 0, 'order ' || n,
         '{}', now(), now(), now(), now() from generate_series(1, $1::int) n`,
      [count],
    )
  }

  /** As if it were new. */
  async clear(): Promise<void> {
    const tables = await this.rows<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'lazaret' and tablename <> 'migrations'`,
    )
    await this.pool.query(`truncate ${tables.map(({ name }) => `lazaret.${name}`).join(', ')} cascade`)
  }

  /**
   * A pool has ended before its connections have. Dropping the database, or stopping its server, under one of them is an error
   * that nobody listens to any more, so the end of all connections is awaited first.
   */
  async close(): Promise<void> {
    await this.pool.end()
    await timing.eventually(() => this.#isUnused(), `all clients of ${this.#name} disconnect`).catch(() => {})
    await onServer(this.#server, `drop database if exists ${this.#name} with (force)`).catch(() => {})
  }

  async #isUnused(): Promise<boolean> {
    const others = await onServer(
      this.#server,
      `select from pg_stat_activity where datname = '${this.#name}' limit 1`,
    ).catch(() => [])
    return others.length === 0
  }
}

async function onServer(server: PostgresService, statement: string): Promise<unknown[]> {
  const pool = new Pool({ connectionString: server.url, max: 1 })
  try {
    return (await pool.query(statement)).rows
  } finally {
    await pool.end()
  }
}
