import { Pool } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import {
  migratePostgres,
  openPostgres,
  postgresOutbox,
  printMigrations,
  SCHEMA_VERSION,
  schemaVersion,
} from '../index.ts'
import { hasSearchIndex } from './letter-search.ts'
import { MIGRATIONS, PREPARE, record } from './migrations.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const databases: TestDatabase[] = []
afterAll(async () => {
  await Promise.all(databases.map(database => database.close()))
  await server?.close()
})

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await TestDatabase.empty(server!)
  databases.push(database)
  return database
}

describe.runIf(found.found)(`schema lazaret${found.found ? '' : ` (skipped: ${found.why})`}`, () => {
  it('S1: is made once, however many start it at the same moment', async () => {
    const { pool } = await emptyDatabase()
    expect(await schemaVersion(pool)).toBe(0)
    const taken = await Promise.all([1, 2, 3, 4].map(() => migratePostgres(pool)))
    expect(taken.filter(steps => steps.length > 0)).toHaveLength(1)
    expect(await schemaVersion(pool)).toBe(SCHEMA_VERSION)
  })

  it('S1: what is printed makes the same schema', async () => {
    const [migrated, printed] = [await emptyDatabase(), await emptyDatabase()]
    await migratePostgres(migrated.pool)
    await printed.pool.query(printMigrations())
    const columns = `select table_name, column_name, data_type from information_schema.columns
      where table_schema = 'lazaret' order by 1, ordinal_position`
    expect(await printed.rows(columns)).toEqual(await migrated.rows(columns))
    expect(await migratePostgres(printed.pool)).toEqual([])
  })

  it('S1: a schema of an earlier version goes on from there, by program and as printed', async () => {
    const [migrated, printed] = [await emptyDatabase(), await emptyDatabase()]
    const [first, ...rest] = MIGRATIONS
    for (const { pool } of [migrated, printed]) {
      await pool.query(PREPARE + first!.sql + record(first!))
      await expect(postgresOutbox({ pool }).ready()).rejects.toThrow('lazaret outbox migrate')
    }
    expect(await migratePostgres(migrated.pool)).toEqual(rest)
    await printed.pool.query(printMigrations())
    for (const { pool } of [migrated, printed]) {
      const store = openPostgres({ pool })
      await store.ready()
      expect(await store.snapshots.list()).toEqual([])
      expect(await store.fleet.list()).toEqual([])
      await store.close()
    }
  })

  it('S1: a schema of a newer version is left alone', async () => {
    const database = await emptyDatabase()
    await migratePostgres(database.pool)
    await database.pool.query(`insert into lazaret.migrations (version, name) values (99, 'the future')`)
    await expect(migratePostgres(database.pool)).rejects.toMatchObject({ code: 'LAZARET_STORE_NEWER' })
  })

  it('S1: a newer schema that works with older programs does not stop one from starting', async () => {
    const database = await emptyDatabase()
    await migratePostgres(database.pool)
    const step = 'insert into lazaret.migrations (version, name, works_with) values ($1, $2, $3)'
    await database.pool.query(step, [98, 'an index more', 1])
    const open = () => postgresOutbox({ pool: database.pool })
    await open().ready()
    expect(await migratePostgres(database.pool)).toEqual([])
    await database.pool.query(step, [99, 'a column less', 99])
    await expect(open().ready()).rejects.toMatchObject({ code: 'LAZARET_STORE_NEWER' })
  })

  it('S1: a migration that fails leaves nothing behind', async () => {
    const database = await emptyDatabase()
    await database.pool.query('create schema lazaret; create table lazaret.audit (mine text)')
    await expect(migratePostgres(database.pool)).rejects.toMatchObject({ code: 'LAZARET_STORE_FAILED' })
    expect(await database.rows(`select to_regclass('lazaret.outbox') as outbox`)).toEqual([{ outbox: null }])
  })

  describe('the index of text searches', () => {
    const hasTrigrams = async () => {
      const { pool } = await emptyDatabase()
      const { rows } = await pool.query(`select from pg_available_extensions where name = 'pg_trgm'`)
      return rows.length > 0
    }

    it('S6: is made where the extension is, in whatever schema, and a search uses it', async ctx => {
      if (!(await hasTrigrams())) ctx.skip('the server has no pg_trgm')
      const { pool } = await emptyDatabase()
      await pool.query('create schema "of others"; create extension pg_trgm schema "of others"')
      await migratePostgres(pool)
      expect(await hasSearchIndex(pool)).toBe(true)
      const client = await pool.connect()
      await client.query('set enable_seqscan = off')
      const ask = `explain select id from lazaret.dead_letters where search like '%order 4711%'`
      const plan: { readonly 'QUERY PLAN': string }[] = (await client.query(ask)).rows
      client.release()
      expect(plan.map(row => row['QUERY PLAN']).join('\n')).toContain('dead_letters_search')
    })

    it('S6: is not made without the extension, and a person makes it later', async ctx => {
      const { pool } = await emptyDatabase()
      await migratePostgres(pool)
      expect(await hasSearchIndex(pool)).toBe(false)
      if (!(await hasTrigrams())) ctx.skip('the server has no pg_trgm')
      await pool.query('create extension pg_trgm')
      await pool.query(
        'create index concurrently mine on lazaret.dead_letters using gin (search gin_trgm_ops)',
      )
      expect(await hasSearchIndex(pool)).toBe(true)
    })

    /** The versions from that of the index on. */
    const FROM_TEN = MIGRATIONS.map(({ version }) => version).filter(version => version >= 10)

    /** A database of the version before the index, with the extension. */
    const versionNine = async () => {
      const database = await emptyDatabase()
      for (const step of [
        PREPARE,
        ...MIGRATIONS.filter(({ version }) => version < 10).map(each => each.sql + record(each)),
      ])
        await database.pool.query(step)
      await database.pool.query('create extension pg_trgm')
      return database
    }

    it('S6: is left alone where a person has made it already', async ctx => {
      if (!(await hasTrigrams())) ctx.skip('the server has no pg_trgm')
      const { pool } = await versionNine()
      await pool.query(
        'create index dead_letters_search on lazaret.dead_letters using gin (search gin_trgm_ops)',
      )
      expect((await migratePostgres(pool)).map(({ version }) => version)).toEqual(FROM_TEN)
      expect(await hasSearchIndex(pool)).toBe(true)
    })

    it('S6: is not made by a role that may not use the extension, and keeps no migration back', async ctx => {
      if (!(await hasTrigrams())) ctx.skip('the server has no pg_trgm')
      const { pool, url } = await versionNine()
      await pool.query(
        `create schema private; alter extension pg_trgm set schema private;
         create role without_usage; grant all on schema lazaret to without_usage;
         alter table lazaret.dead_letters owner to without_usage;
         alter table lazaret.outbox owner to without_usage;
         alter function lazaret.outbox_cleanup owner to without_usage;
         grant all on all tables in schema lazaret to without_usage;
         do $$ begin execute format('grant create on database %I to without_usage', current_database()); end $$`,
      )
      const limited = new Pool({ connectionString: url, options: '-c role=without_usage' })
      try {
        expect((await migratePostgres(limited)).map(({ version }) => version)).toEqual(FROM_TEN)
        expect(await hasSearchIndex(pool)).toBe(false)
      } finally {
        await limited.end()
        await pool.query('drop owned by without_usage cascade; drop role without_usage')
      }
    })

    it.for([
      ['of another column', '(key gin_trgm_ops)'],
      ['of some letters', `(search gin_trgm_ops) where state = 'parked'`],
    ])('S6: is not one %s', async ([, columns], ctx) => {
      if (!(await hasTrigrams())) ctx.skip('the server has no pg_trgm')
      const { pool } = await versionNine()
      await pool.query(`create index other on lazaret.dead_letters using gin ${columns}`)
      expect(await hasSearchIndex(pool)).toBe(false)
    })

    it('S6: is left to a person where its making would keep letters waiting', async ctx => {
      if (!(await hasTrigrams())) ctx.skip('the server has no pg_trgm')
      const database = await versionNine()
      const { pool } = database
      await pool.query('alter table lazaret.dead_letters disable trigger all')
      await database.addLetterRows(100_001)
      expect((await migratePostgres(pool)).map(({ version }) => version)).toEqual(FROM_TEN)
      expect(await hasSearchIndex(pool)).toBe(false)
    })
  })

  it('S6: every table and column says what it is', async () => {
    const database = await emptyDatabase()
    await migratePostgres(database.pool)
    const silent = await database.rows(
      `select c.relname, a.attname from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum >= 0 and not a.attisdropped
       where c.relnamespace = 'lazaret'::regnamespace and c.relkind = 'r'
         and (col_description(c.oid, a.attnum) is null or obj_description(c.oid) is null)`,
    )
    expect(silent).toEqual([])
  })
})
