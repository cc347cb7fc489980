import { readFileSync } from 'node:fs'
import { TransientError } from 'lazaret'
import { DatabaseError, Pool } from 'pg'
import type { Deleted, User } from './events.ts'

const SCHEMA = readFileSync(new URL('schema.sql', import.meta.url), 'utf8')

/**
 * The profiles in Postgres. Every statement may be run again, and in another order, without harm: RabbitMQ delivers at
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
    // A connection that is lost while nobody uses it is replaced by the next query. Unheard, it would end the process.
    this.#pool.on('error', () => {})
  }

  async createTables(): Promise<void> {
    await this.#run(SCHEMA)
  }

  async registered({ userId, email, displayName, version }: User): Promise<void> {
    await this.#run(
      `insert into profiles (user_id, email, display_name, version) select $1, $2, $3, $4
       where not exists (select from deleted_users where user_id = $1)
       on conflict (user_id) do nothing`,
      [userId, email, displayName, version],
    )
  }

  async updated({ userId, email, displayName, version }: User): Promise<void> {
    await this.#run(
      `insert into profiles (user_id, email, display_name, version) select $1, $2, $3, $4
       where not exists (select from deleted_users where user_id = $1)
       on conflict (user_id) do update
       set email = excluded.email, display_name = excluded.display_name, version = excluded.version
       where profiles.version < excluded.version`,
      [userId, email, displayName, version],
    )
  }

  async deleted({ userId }: Deleted): Promise<void> {
    await this.#run(
      `with gone as (insert into deleted_users (user_id) values ($1) on conflict do nothing)
       delete from profiles where user_id = $1`,
      [userId],
    )
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  /** What Postgres answers carries a SQLSTATE, and Lazaret knows those. Anything else: it could not be asked at all. */
  async #run(statement: string, values?: unknown[]): Promise<void> {
    try {
      await this.#pool.query(statement, values)
    } catch (error) {
      if (error instanceof DatabaseError) throw error
      throw new TransientError('the database cannot be reached', { cause: error })
    }
  }
}
