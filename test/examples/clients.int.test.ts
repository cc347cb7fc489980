import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import postgres from 'postgres'
import { afterAll, describe, expect, it } from 'vitest'
import { onDrizzle } from '../../examples/outbox/clients/drizzle.ts'
import { onKnex } from '../../examples/outbox/clients/knex.ts'
import { onKysely } from '../../examples/outbox/clients/kysely.ts'
import { onPostgresJs } from '../../examples/outbox/clients/postgres-js.ts'
import { onPrisma } from '../../examples/outbox/clients/prisma.ts'
import { type PgQueryable, postgresLedger, postgresOutbox } from '../../src/adapters/postgres/index.ts'
import { uniqueName } from '../../src/testing/conformance/harness.ts'
import { findPostgres } from '../services/postgres.ts'
import { TestDatabase } from '../support/postgres.ts'
import { prismaOn } from '../support/prisma-client.ts'
import { ROOT } from '../support/source.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
await database?.pool.query('create table orders (id text primary key)')
const ends: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const end of ends) await end()
  await database?.close()
  await server?.close()
})

/** A transaction of each client: what the work writes is committed when it resolves, and rolled back when it throws. */
type InTransaction = <T>(work: (tx: PgQueryable) => Promise<T>) => Promise<T>

const CLIENTS: Readonly<Record<string, (url: string) => InTransaction>> = {
  'postgres.js': url => {
    const sql = postgres(url, { onnotice: () => {} })
    ends.push(() => sql.end())
    return async work => (await sql.begin(tx => work(onPostgresJs(tx)))) as never
  },
  Drizzle: url => {
    const pool = new Pool({ connectionString: url })
    ends.push(() => pool.end())
    const db = drizzle({ client: pool })
    return work => db.transaction(tx => work(onDrizzle(tx)))
  },
  Kysely: url => {
    const db = new Kysely<object>({
      dialect: new PostgresDialect({ pool: new Pool({ connectionString: url }) }),
    })
    ends.push(() => db.destroy())
    return work => db.transaction().execute(tx => work(onKysely(tx)))
  },
  Knex: url => {
    const db = knex({ client: 'pg', connection: url })
    ends.push(() => db.destroy())
    return work => db.transaction(tx => work(onKnex(tx)))
  },
  Prisma: url => {
    const prisma = prismaOn(url)
    ends.push(() => prisma.$disconnect())
    return work => prisma.$transaction(tx => work(onPrisma(tx)))
  },
}

const INSERT = 'insert into orders (id) values ($1)'

describe.runIf(found.found).each(Object.keys(CLIENTS))(
  `a transaction of %s${found.found ? '' : ` (skipped: ${found.why})`}`,
  name => {
    const { pool, url } = database ?? ({} as TestDatabase)
    const inTransaction: InTransaction = work => {
      open ??= CLIENTS[name]!(url)
      return open(work)
    }
    let open: InTransaction | undefined
    const rowsOf = (channel: string) =>
      database!.rows<{ id: string; payload: unknown; key: string; headers: unknown }>(
        'select event_id as id, payload, key, headers from lazaret.outbox where channel = $1 order by seq',
        [channel],
      )

    it('S1: an event is stored with the row that it describes', async () => {
      const channel = uniqueName('orders')
      const outbox = postgresOutbox({ pool })
      const payload = { note: `it's "so", ? and $1 and :key`, list: [1, null, { deep: true }] }
      const events = await inTransaction(async tx => {
        await tx.query(INSERT, [channel])
        return await outbox.enqueue(tx, [
          { channel, type: 'order.placed', key: 'customer-1', payload, headers: { tenant: 't?1' } },
          { channel, type: 'order.placed', payload: 'only text' },
          { channel, type: 'order.placed', payload: null },
        ])
      })
      const rows = await rowsOf(channel)
      expect(rows.map(({ id }) => id)).toEqual(events.map(({ id }) => id))
      expect(rows.map(row => row.payload)).toEqual([payload, 'only text', null])
      expect(rows[0]).toMatchObject({ key: 'customer-1', headers: { tenant: 't?1' } })
      expect(await database!.rows('select id from orders where id = $1', [channel])).toHaveLength(1)
      await outbox.close()
    })

    it('S1: a rollback leaves neither row nor event', async () => {
      const channel = uniqueName('orders')
      const outbox = postgresOutbox({ pool })
      const changed = inTransaction(async tx => {
        await tx.query(INSERT, [channel])
        await outbox.enqueue(tx, { channel, type: 'order.placed' })
        throw new Error('changed my mind')
      })
      await expect(changed).rejects.toThrow('changed my mind')
      expect(await rowsOf(channel)).toEqual([])
      expect(await database!.rows('select id from orders where id = $1', [channel])).toEqual([])
      await outbox.close()
    })

    it('S8: the ledger records in the transaction once, and not after a rollback', async () => {
      const key = uniqueName('charge')
      const ledger = postgresLedger({ pool })
      const failed = inTransaction(async tx => {
        expect(await ledger.record(tx, 'billing', key)).toBe(true)
        throw new Error('no money')
      })
      await expect(failed).rejects.toThrow('no money')
      const record = () => inTransaction(tx => ledger.record(tx, 'billing', key))
      expect([await record(), await record()]).toEqual([true, false])
      await ledger.close()
    })
  },
)

it.each(['postgres-js', 'drizzle', 'kysely', 'knex', 'prisma'])(
  'the docs show the recipe %s as it is tested',
  name => {
    const page = readFileSync(join(ROOT, 'docs/brokers/postgres-clients.md'), 'utf8')
    expect(page).toContain(readFileSync(join(ROOT, `examples/outbox/clients/${name}.ts`), 'utf8').trim())
  },
)
