import { fileStore } from '../src/adapters/file/index.ts'
import { memoryStore } from '../src/adapters/memory/index.ts'
import { migratePostgres, openPostgres } from '../src/adapters/postgres/index.ts'
import { openRedis } from '../src/adapters/redis/index.ts'
import { openSqlite } from '../src/adapters/sqlite/index.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import { freezeBulk, runBulk } from '../src/operations/bulk.ts'
import { PURGE } from '../src/operations/bulk-actions.ts'
import { systemClock } from '../src/ports/clock.ts'
import type { Store } from '../src/ports/store.ts'
import { findPostgres } from '../test/services/postgres.ts'
import { findRedis } from '../test/services/redis.ts'
import { makeLetters } from './harness/letters.ts'
import { LETTERS, milliseconds, sendAll, withTempFolder } from './harness/load.ts'
import { atLeast, atMost, type Bar, type BenchResult, machine, type Row, row } from './harness/result.ts'
import { withBenchDatabase } from './outbox/candidate.ts'

const ROUNDS = 3
/** A purge deletes this many letters a second, from the count to the last of them. */
const MIN_PER_SECOND = 5_000
/** No batch of it blocks the store for longer. */
const MAX_BLOCKED_MS = 50

interface Purged {
  readonly perSecond: number
  readonly longestBatchMs: number
}

/** Fills a store and purges all of its letters. */
async function purgeOnce(store: Store, letters: readonly DeadLetter[]): Promise<Purged> {
  await sendAll(letters, letter => store.deadLetters.send(letter))
  let deleted = 0
  let longestBatchMs = 0
  const ms = await milliseconds(async () => {
    const purge = await freezeBulk(store, { filter: {}, at: systemClock.now() })
    deleted = await runBulk(store, purge, PURGE, 'bench', {
      onProgress: (_, batch) => {
        longestBatchMs = Math.max(longestBatchMs, batch.ms)
      },
    })
  })
  const { count } = await store.deadLetters.stats()
  if (deleted !== letters.length || count !== 0)
    throw new Error(`bench: ${deleted} of ${letters.length} letters were deleted, and ${count} are left`)
  return { perSecond: deleted / (ms / 1_000), longestBatchMs }
}

async function rounds(store: Store): Promise<Purged[]> {
  const purged: Purged[] = []
  try {
    for (let round = 0; round < ROUNDS; round++) purged.push(await purgeOnce(store, makeLetters(LETTERS)))
  } finally {
    await store.close()
  }
  return purged
}

async function onPostgres(): Promise<Purged[]> {
  const found = await findPostgres()
  if (!found.found) throw new Error(`bench: it needs Postgres: ${found.why}`)
  const server = await found.start()
  try {
    return await withBenchDatabase(server.url, async ({ pool }) => {
      await migratePostgres(pool)
      return rounds(openPostgres({ pool }))
    })
  } finally {
    await server.close()
  }
}

async function onRedis(): Promise<Purged[]> {
  const found = await findRedis()
  if (!found.found || !found.isPrivate) throw new Error('bench: it needs a Redis of its own, to empty it')
  const server = await found.start({ appendonly: 'yes', appendfsync: 'everysec' })
  try {
    return await rounds(openRedis({ url: server.url }))
  } finally {
    await server.close()
  }
}

/** The purge of all letters on every store: from the count, which reads every version, to the last deletion. */
export async function run(): Promise<BenchResult> {
  const purged: Readonly<Record<string, Purged[]>> = {
    memory: await rounds(memoryStore()),
    file: await withTempFolder(dir => rounds(fileStore({ dir }))),
    SQLite: await withTempFolder(dir => rounds(openSqlite({ path: `${dir}/purge.db` }))),
    Postgres: await onPostgres(),
    Redis: await onRedis(),
  }
  const rows: Row[] = []
  const bars: Bar[] = []
  for (const [name, each] of Object.entries(purged)) {
    const speed = row(
      `${name}, purge`,
      'letters/s',
      each.map(({ perSecond }) => perSecond),
    )
    const batch = row(
      `${name}, longest batch`,
      'ms',
      each.map(({ longestBatchMs }) => longestBatchMs),
    )
    rows.push(speed, batch)
    bars.push(
      atLeast(`${speed.name}, letters/s`, speed.median, MIN_PER_SECOND),
      atMost(`${batch.name}, ms`, batch.median, MAX_BLOCKED_MS),
    )
  }
  return { bench: 'purge', machine: machine(), rows, bars }
}
