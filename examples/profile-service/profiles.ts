import { readFileSync } from 'node:fs'
import { TransientError } from 'lazaret'
import { DatabaseError, Pool, type PoolClient } from 'pg'
import type { Deleted, User } from './user.ts'

const SCHEMA = readFileSync(new URL('schema.sql', import.meta.url), 'utf8')

/**
 * The profiles in Postgres. Every change may be made again, and in another order, without harm: RabbitMQ delivers at
 * least once, and what is retried comes late.
 */
export class Profiles {
  readonly #pool: Pool

  constructor(connectionString: string, connections: number) {
    this.#pool = new Pool({
      connectionString,
      max: connections,
      connectionTimeoutMillis: 2_000,
      query_timeout: 5_000,
    })
    // The pool replaces a lost connection, and the query that used it rejects. Without this listener, the error event
    // would end the process.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', client => client.on('error', () => {}))
  }

  async createTables(): Promise<void> {
    await this.#work(client => client.query(SCHEMA))
  }

  async registered({ userId, email, displayName, version }: User): Promise<void> {
    await this.#change(
      userId,
      `insert into profiles (user_id, email, display_name, version) select $1, $2, $3, $4
       where not exists (select from deleted_users where user_id = $1)
       on conflict (user_id) do nothing`,
      [email, displayName, version],
    )
  }

  async updated({ userId, email, displayName, version }: User): Promise<void> {
    await this.#change(
      userId,
      `insert into profiles (user_id, email, display_name, version) select $1, $2, $3, $4
       where not exists (select from deleted_users where user_id = $1)
       on conflict (user_id) do update
       set email = excluded.email, display_name = excluded.display_name, version = excluded.version
       where profiles.version < excluded.version`,
      [email, displayName, version],
    )
  }

  async deleted({ userId }: Deleted): Promise<void> {
    await this.#change(
      userId,
      `with gone as (insert into deleted_users (user_id) values ($1) on conflict do nothing)
       delete from profiles where user_id = $1`,
    )
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  /** One at a time for each user: two that ran side by side would not see what the other one does. */
  async #change(userId: string, statement: string, more: readonly unknown[] = []): Promise<void> {
    await this.#work(async client => {
      await client.query('begin')
      await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [userId])
      await client.query(statement, [userId, ...more])
      await client.query('commit')
    })
  }

  /** What Postgres answers carries a SQLSTATE, and Lazaret knows those. Anything else: it could not be asked at all. */
  async #work(work: (client: PoolClient) => Promise<unknown>): Promise<void> {
    let client: PoolClient | undefined
    try {
      client = await this.#pool.connect()
      await work(client)
      client.release()
    } catch (error) {
      // Closed, not kept: that ends its transaction too.
      client?.release(true)
      if (error instanceof DatabaseError) throw error
      throw new TransientError('the database cannot be reached', { cause: error })
    }
  }
}
