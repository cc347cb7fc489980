import { LazaretError } from '../../../core/failure/errors.ts'
import type { PgClient, PgPool, PgQueryable, PgResult } from './client.ts'
import { PostgresError } from './errors.ts'

/** Runs one statement. What goes wrong is told with what was being done. */
export async function ask(
  on: PgQueryable,
  doing: string,
  text: string,
  values: unknown[] = [],
): Promise<PgResult> {
  try {
    return await on.query(text, values)
  } catch (error) {
    throw new PostgresError(doing, error)
  }
}

/**
 * Does the work in a transaction of its own. READ COMMITTED whatever the server's default is: a stricter level would
 * only answer what is meant to be waited for with errors.
 */
export async function inTransaction<T>(
  pool: PgPool,
  doing: string,
  work: (client: PgQueryable) => Promise<T>,
): Promise<T> {
  const client = await connect(pool, doing)
  try {
    await ask(client, doing, 'begin isolation level read committed')
    const result = await work(client)
    await ask(client, doing, 'commit')
    letGo(client)
    return result
  } catch (error) {
    await rollBack(client)
    throw error instanceof LazaretError ? error : new PostgresError(doing, error)
  }
}

/** A connection of the pool's. If it breaks, whoever asks next is told: an error event nobody hears ends the process. */
export async function connect(pool: PgPool, doing: string): Promise<PgClient> {
  try {
    const client = await pool.connect()
    client.on('error', ignore)
    return client
  } catch (error) {
    throw new PostgresError(doing, error)
  }
}

/** Back to the pool, or closed when it is not to be trusted any more: then it may have an error to tell yet. */
export function letGo(client: PgClient, isBroken = false): void {
  if (!isBroken) client.removeListener('error', ignore)
  client.release(isBroken)
}

async function rollBack(client: PgClient): Promise<void> {
  try {
    await client.query('rollback')
    letGo(client)
  } catch {
    letGo(client, true)
  }
}

function ignore(): void {}
