import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Pool } from 'pg'
import { migratePostgres } from '../../src/adapters/postgres/index.ts'
import { findPostgres } from '../../test/services/postgres.ts'

/** A Postgres with the tables of Lazaret, whose process the benchmark can watch. */
export interface BenchPostgres {
  readonly url: string
  readonly pid: number
  /** Numbers that the server computes, by the names of the columns. */
  numbers(select: string): Promise<Readonly<Record<string, number>>>
  close(): Promise<void>
}

export async function startPostgres(connections: number): Promise<BenchPostgres> {
  const found = await findPostgres()
  if (!found.found) throw new Error(`bench: ${found.why}`)
  const service = await found.start()
  const { url, node } = service
  if (node === undefined)
    throw new Error('bench: it measures a Postgres that it starts itself; unset LAZARET_TEST_POSTGRES_URL')
  try {
    await withPool(url, pool => pool.query(`alter system set max_connections = ${connections}`))
    await node.stop()
    await node.start()
    await withPool(url, migratePostgres)
  } catch (error) {
    await service.close()
    throw error
  }
  return {
    url,
    pid: Number(readFileSync(join(node.folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]),
    async numbers(select) {
      const { rows } = await withPool(url, pool => pool.query(select))
      return Object.fromEntries(Object.entries(rows[0]).map(([name, value]) => [name, Number(value)]))
    },
    close: () => service.close(),
  }
}

async function withPool<T>(url: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = new Pool({ connectionString: url, max: 1 })
  pool.on('error', () => {})
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}
