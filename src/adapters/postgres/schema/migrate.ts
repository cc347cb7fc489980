import type { PgPool, PgQueryable } from '../connection/client.ts'
import { inTransaction, runQuery } from '../connection/query.ts'
import { PostgresSchemaError } from '../errors.ts'
import { MIGRATIONS, type Migration, PREPARE, record, SCHEMA_VERSION } from './migrations.ts'

const DOING = 'migrating schema lazaret'

/**
 * Brings the schema up to date and answers the steps that were taken. All steps run in one transaction under a lock, so
 * they run once and as a whole, even if several processes start it.
 */
export function migratePostgres(pool: PgPool): Promise<readonly Migration[]> {
  return inTransaction(pool, DOING, async client => {
    await runQuery(client, DOING, PREPARE)
    const { version, worksWith } = await readVersion(client)
    if (worksWith > SCHEMA_VERSION) throw new PostgresSchemaError(version, SCHEMA_VERSION)
    const steps = MIGRATIONS.filter(step => step.version > version)
    for (const step of steps)
      await runQuery(client, `${DOING} to version ${step.version}`, step.sql + record(step))
    return steps
  })
}

interface Schema {
  readonly version: number
  /** The lowest version that a program has to know to work with the schema. */
  readonly worksWith: number
}

const NO_SCHEMA: Schema = { version: 0, worksWith: 0 }

/** The version of the schema, 0 when it does not exist. */
export async function schemaVersion(on: PgQueryable): Promise<number> {
  return (await findSchema(on)).version
}

async function findSchema(on: PgQueryable): Promise<Schema> {
  const found = await runQuery(
    on,
    'looking for schema lazaret',
    `select to_regclass('lazaret.migrations') is not null as "isThere"`,
  )
  return found.rows[0].isThere ? await readVersion(on) : NO_SCHEMA
}

/**
 * Rejects when this version of the program does not work with the schema. A newer schema may say that it works with older
 * programs. Then processes of the old release can still be started while the new one is rolled out.
 */
export async function requireSchema(on: PgQueryable): Promise<void> {
  const { version, worksWith } = await findSchema(on)
  if (version < SCHEMA_VERSION || worksWith > SCHEMA_VERSION)
    throw new PostgresSchemaError(version, SCHEMA_VERSION)
}

async function readVersion(on: PgQueryable): Promise<Schema> {
  const { rows } = await runQuery(
    on,
    'reading the version of schema lazaret',
    `select coalesce(max(version), 0)::int as version, coalesce(max(coalesce(works_with, version)), 0)::int as "worksWith"
     from lazaret.migrations`,
  )
  return rows[0]
}
