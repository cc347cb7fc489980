import type { PgPool, PgQueryable } from '../connection/client.ts'
import { inTransaction, runQuery } from '../connection/query.ts'
import { PostgresSchemaError } from '../errors.ts'
import { MIGRATIONS, type Migration, PREPARE, record, SCHEMA_VERSION } from './migrations.ts'

const DOING = 'migrating schema lazaret'

/**
 * Brings the schema up to date and answers the steps that were taken: none when it was. All in one transaction under a
 * lock, so that it is done or not done, once, however many start it.
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
  /** Programs that know no version as high as this cannot work with it. */
  readonly worksWith: number
}

const NO_SCHEMA: Schema = { version: 0, worksWith: 0 }

/** The version of the schema; 0 when it is not there. */
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
 * Rejects when the schema is not one that this version works with. A newer one may say that it is: then, while a new
 * release is rolled out, processes of the old one can still be started.
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
