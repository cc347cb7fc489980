import { LazaretError } from '../../../core/failure/errors.ts'
import { PostgresError } from '../errors.ts'
import type { PgClient, PgPool, PgQueryable, PgResult } from './client.ts'

/** Runs one statement. The error of a failed statement names its purpose. */
export async function runQuery(
  on: PgQueryable,
  doing: string,
  text: string,
  values: unknown[] = [],
): Promise<PgResult> {
  try {
    return await on.query(text, values)
  } catch (error) {
    throw failureOf(doing, error)
  }
}

/**
 * Runs the work in its own transaction. The level is READ COMMITTED whatever the default of the server is: at a stricter
 * level statements would fail that are meant to wait.
 */
export async function inTransaction<T>(
  pool: PgPool,
  doing: string,
  work: (client: PgQueryable) => Promise<T>,
): Promise<T> {
  const client = await connect(pool, doing)
  try {
    await runQuery(client, doing, 'begin isolation level read committed')
    const result = await work(client)
    await runQuery(client, doing, 'commit')
    releaseClient(client)
    return result
  } catch (error) {
    await rollBack(client)
    throw failureOf(doing, error)
  }
}

/**
 * Runs one statement without compiling it. The server compiles a statement that looks expensive, and for one that merges many short
 * index scans that takes ten times as long as the statement.
 */
export function runUncompiled(
  pool: PgPool,
  doing: string,
  text: string,
  values: unknown[] = [],
): Promise<PgResult> {
  return inTransaction(pool, doing, async client => {
    await runQuery(client, doing, 'set local jit = off')
    return runQuery(client, doing, text, values)
  })
}

/** Takes a connection out of the pool. It listens for errors, because an error event without a listener ends the process. */
export async function connect(pool: PgPool, doing: string): Promise<PgClient> {
  try {
    const client = await pool.connect()
    client.on('error', ignore)
    return client
  } catch (error) {
    throw failureOf(doing, error)
  }
}

/** An error of our own, such as that of a missing client, says already what to do. */
function failureOf(doing: string, error: unknown): LazaretError {
  return error instanceof LazaretError ? error : new PostgresError(doing, error)
}

/** Puts a connection back into the pool. A broken one is closed, and may still emit errors. */
export function releaseClient(client: PgClient, isBroken = false): void {
  if (!isBroken) client.removeListener('error', ignore)
  client.release(isBroken)
}

async function rollBack(client: PgClient): Promise<void> {
  try {
    await client.query('rollback')
    releaseClient(client)
  } catch {
    releaseClient(client, true)
  }
}

function ignore(): void {}
