import { readFile } from 'node:fs/promises'
import { migratePostgres } from 'lazaret/postgres'
import { Pool, type PoolClient } from 'pg'

/** The service's own pool and tables, and the schema `lazaret` beside them. */
export async function openDatabase(): Promise<Pool> {
  const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })
  // The pool replaces a broken connection, and the query that used it rejects. Without this listener, the error event
  // would end the process.
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  // The example often runs on an empty database, so that each program creates the schema if it is missing.
  await migratePostgres(pool)
  await inTransaction(pool, async tx => {
    await tx.query(`select pg_advisory_xact_lock(hashtext('examples/outbox'))`)
    await tx.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
  })
  return pool
}

/** All that the work writes, or nothing of it. */
export async function inTransaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  const tx = await pool.connect()
  let isBroken = false
  try {
    await tx.query('begin')
    const result = await work(tx)
    await tx.query('commit')
    return result
  } catch (error) {
    await tx.query('rollback').catch(() => {
      isBroken = true
    })
    throw error
  } finally {
    tx.release(isBroken)
  }
}
