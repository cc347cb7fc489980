import { loadClient } from '../../../adapter-kit/load-client.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import { show } from '../../../core/options/show.ts'
import { type Clock, settlesWithin } from '../../../ports/clock.ts'
import type { PgClient, PgPool, PgResult } from './client.ts'
import { runQuery } from './query.ts'

/** Fails after this time when the server does not answer. A person may wait for it. */
const CONNECT_TIMEOUT_MS = 5_000

/** After this time without an answer the system asks whether the server's host still has the connection. */
const KEEP_ALIVE_AFTER_MS = 10_000

const DEFAULT_CONNECTIONS = 10

/** Makes a pool of node-postgres, which is an optional peer. */
export async function createPool(
  url: string,
  max = DEFAULT_CONNECTIONS,
): Promise<PgPool & { end(): Promise<void> }> {
  const { Pool } = await loadClient('pg', () => import('pg'))
  const pool = new Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // Otherwise a query never ends when the server's host dies and returns: nothing says that the connection is gone.
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    application_name: 'lazaret',
  })
  // The pool replaces a connection that breaks while it is idle. A query on a broken one fails by itself.
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}

/**
 * A pool of node-postgres that is made when it is first used, because a package is loaded asynchronously. A pool that
 * was never used needs no client and has nothing to close.
 */
export class LazyPool implements PgPool {
  /** Tells its size before there is a pool. */
  readonly options = { max: DEFAULT_CONNECTIONS }
  readonly #url: string
  #pool: ReturnType<typeof createPool> | undefined

  constructor(url: string) {
    this.#url = url
  }

  /** A failed attempt is not kept: the next call tries again. */
  load(): ReturnType<typeof createPool> {
    this.#pool ??= createPool(this.#url, this.options.max).catch((error: unknown) => {
      this.#pool = undefined
      throw error
    })
    return this.#pool
  }

  async query(text: string, values?: unknown[]): Promise<PgResult> {
    return (await this.load()).query(text, values)
  }

  async connect(): Promise<PgClient> {
    return (await this.load()).connect()
  }

  async end(): Promise<void> {
    await (await this.#pool?.catch(() => undefined))?.end()
  }
}

/** A consumer keeps one connection for its lease and notifications, and needs another for everything else. */
const MIN_CONNECTIONS = 2
const PROBE_MS = 10_000
const REMEDY = `give a pool of at least ${MIN_CONNECTIONS} connections, and more for handlers that use it: a consumer keeps one for its lease`

/** Undefined for a pool that does not report its maximum size, unlike node-postgres. */
function sizeOf(pool: PgPool): number | undefined {
  const { options } = pool as { readonly options?: { readonly max?: unknown } | null }
  const max = Number(options?.max ?? Number.NaN)
  return Number.isNaN(max) ? undefined : max
}

/** Whether a process can keep a connection and still has another. True for a pool that does not report its size. */
export function canKeepConnection(pool: PgPool): boolean {
  return (sizeOf(pool) ?? MIN_CONNECTIONS) >= MIN_CONNECTIONS
}

/** Refuses a pool that is too small to consume with: it would wait for its own connection without a sign of it. */
export function requireSize(pool: PgPool, name: string): void {
  if (!canKeepConnection(pool)) throw tooSmall(name, 'pool.options.max', show(sizeOf(pool)))
}

/** The same for a pool that does not report its size. The LISTEN connection must be taken before. */
export async function requireAnother(pool: PgPool, name: string, clock: Clock): Promise<void> {
  if (sizeOf(pool) !== undefined) return
  const asked = runQuery(pool, 'asking for a second connection', 'select 1')
  if (!(await settlesWithin(clock, PROBE_MS, asked)))
    throw tooSmall(name, 'pool', `a pool that gave no second connection within ${PROBE_MS / 1_000} s`)
}

function tooSmall(name: string, path: string, received: string): OptionsError {
  return new OptionsError(name, [{ path: `${name}.${path}`, received, remedy: REMEDY }])
}
