import { OptionsError } from '../../../core/options/faults.ts'
import { show } from '../../../core/options/show.ts'
import { type Clock, within } from '../../../ports/clock.ts'
import { ask } from './ask.ts'
import type { PgPool } from './client.ts'

/** A consumer keeps one connection for its lease and notifications, and needs another for everything else. */
const LEAST_CONNECTIONS = 2
const PROBE_MS = 10_000
const REMEDY = `give a pool of at least ${LEAST_CONNECTIONS} connections, and more for handlers that use it: a consumer keeps one for its lease`

/** Node-postgres says how large a pool may grow; another pool need not. */
function sizeOf(pool: PgPool): number | undefined {
  const { options } = pool as { readonly options?: { readonly max?: unknown } | null }
  const max = Number(options?.max ?? Number.NaN)
  return Number.isNaN(max) ? undefined : max
}

/** Refuses a pool that is too small to consume with: it would wait for its own connection, and say nothing. */
export function requireSize(pool: PgPool, name: string): void {
  const size = sizeOf(pool)
  if (size !== undefined && size < LEAST_CONNECTIONS) throw tooSmall(name, 'pool.options.max', show(size))
}

/** The same for a pool that does not tell its size, while the connection that is kept is taken. */
export async function requireAnother(pool: PgPool, name: string, clock: Clock): Promise<void> {
  if (sizeOf(pool) !== undefined) return
  const asked = ask(pool, 'asking for a second connection', 'select 1')
  if (!(await within(clock, PROBE_MS, asked)))
    throw tooSmall(name, 'pool', `a pool that gave no second connection within ${PROBE_MS / 1_000} s`)
}

function tooSmall(name: string, path: string, received: string): OptionsError {
  return new OptionsError(name, [{ path: `${name}.${path}`, received, remedy: REMEDY }])
}
