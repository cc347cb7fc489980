import { ask, inTransaction } from '../ask.ts'
import type { PgPool, PgQueryable } from '../client.ts'
import { PostgresSchemaError } from '../errors.ts'
import { MIGRATIONS, type Migration, PREPARE, record, SCHEMA_VERSION } from './migrations.ts'

const DOING = 'migrating schema lazaret'

/**
 * Brings the schema up to date and answers the steps that were taken: none when it was. All in one transaction under a
 * lock, so that it is done or not done, once, however many start it.
 */
export function migratePostgres(pool: PgPool): Promise<readonly Migration[]> {
  return inTransaction(pool, DOING, async client => {
    await ask(client, DOING, PREPARE)
    const version = await readVersion(client)
    if (version > SCHEMA_VERSION) throw new PostgresSchemaError(version, SCHEMA_VERSION)
    const steps = MIGRATIONS.filter(step => step.version > version)
    for (const step of steps)
      await ask(client, `${DOING} to version ${step.version}`, step.sql + record(step))
    return steps
  })
}

/** The version of the schema; 0 when it is not there. */
export async function schemaVersion(on: PgQueryable): Promise<number> {
  const found = await ask(
    on,
    'looking for schema lazaret',
    `select to_regclass('lazaret.migrations') is not null as "isThere"`,
  )
  return found.rows[0].isThere ? readVersion(on) : 0
}

/** Rejects when the schema is not the one this version works with. */
export async function requireSchema(on: PgQueryable): Promise<void> {
  const version = await schemaVersion(on)
  if (version !== SCHEMA_VERSION) throw new PostgresSchemaError(version, SCHEMA_VERSION)
}

async function readVersion(on: PgQueryable): Promise<number> {
  const { rows } = await ask(
    on,
    'reading the version of schema lazaret',
    'select coalesce(max(version), 0)::int as version from lazaret.migrations',
  )
  return rows[0].version
}
