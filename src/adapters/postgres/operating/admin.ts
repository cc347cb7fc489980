import type { PgPool } from '../connection/client.ts'
import { migratePostgres, requireSchema } from '../schema/migrate.ts'
import { type Migration, SCHEMA_VERSION } from '../schema/migrations.ts'
import { createPool } from '../store.ts'
import { type OutboxStatus, readStatus } from './status.ts'

export { printMigrations } from '../schema/migrations.ts'
export type { HandlerStatus, OutboxStatus } from './status.ts'

/** What a person does to the outbox itself, in contrast to its letters. */
interface OutboxAdmin {
  /** The steps that were taken; none when the schema was up to date. */
  migrate(): Promise<readonly Migration[]>
  status(): Promise<OutboxStatus>
  readonly version: number
}

export async function withOutboxAdmin<T>(url: string, work: (admin: OutboxAdmin) => Promise<T>): Promise<T> {
  const pool = await createPool(url)
  try {
    return await work(adminOn(pool))
  } finally {
    await pool.end()
  }
}

function adminOn(pool: PgPool): OutboxAdmin {
  return {
    version: SCHEMA_VERSION,
    migrate: () => migratePostgres(pool),
    async status() {
      await requireSchema(pool)
      return readStatus(pool)
    },
  }
}
