import { migratePostgres, openPostgres } from '../src/adapters/postgres/index.ts'
import { openRedis } from '../src/adapters/redis/index.ts'
import { openSqlite } from '../src/adapters/sqlite/index.ts'
import type { DeadLetterStore } from '../src/ports/dead-letters.ts'
import { findPostgres } from '../test/services/postgres.ts'
import { findRedis } from '../test/services/redis.ts'
import { milliseconds, withTempFolder } from './harness/load.ts'
import { COUNT, manyLetters, sendEach } from './harness/million.ts'
import { atMost, type Bar, type BenchResult, machine, type Row, row } from './harness/result.ts'
import { fillPostgres } from './letters/fill-postgres.ts'
import { questionsOf } from './letters/questions.ts'
import { withBenchDatabase } from './outbox/candidate.ts'

const ROUNDS = 5
/** With this interval, a million letters are of thirty days. */
const EVERY_MS = Math.floor((30 * 86_400_000) / COUNT)
/** A page at any depth, for every filter and every order. */
const MAX_PAGE_MS = 150
/** A count of letters, for every filter. */
const MAX_COUNT_MS = 1_000

async function measure(store: string, letters: DeadLetterStore): Promise<{ rows: Row[]; bars: Bar[] }> {
  const rows: Row[] = []
  const slowest = { page: 0, count: 0 }
  for (const { name, kind, ask } of await questionsOf(letters)) {
    const ms: number[] = []
    for (let round = 0; round < ROUNDS; round++) ms.push(await milliseconds(ask))
    const measured = row(`${store}: ${name}`, 'ms', ms)
    slowest[kind] = Math.max(slowest[kind], measured.median)
    rows.push(measured)
  }
  const bars = [
    atMost(`${store}: slowest page, median, ms`, slowest.page, MAX_PAGE_MS),
    atMost(`${store}: slowest count, median, ms`, slowest.count, MAX_COUNT_MS),
  ]
  return { rows, bars }
}

function onSqlite() {
  return withTempFolder(async dir => {
    const store = openSqlite({ path: `${dir}/letters.db` })
    try {
      await sendEach(manyLetters(COUNT, EVERY_MS), 1_000, letter => store.deadLetters.send(letter))
      return await measure('SQLite', store.deadLetters)
    } finally {
      await store.close()
    }
  })
}

async function onPostgres() {
  const found = await findPostgres()
  if (!found.found) throw new Error(`bench: it needs Postgres: ${found.why}`)
  const server = await found.start()
  try {
    return await withBenchDatabase(server.url, async ({ pool }) => {
      await migratePostgres(pool)
      await fillPostgres(pool, manyLetters(COUNT, EVERY_MS))
      const store = openPostgres({ pool })
      try {
        return await measure('Postgres', store.deadLetters)
      } finally {
        await store.close()
      }
    })
  } finally {
    await server.close()
  }
}

async function onRedis() {
  const found = await findRedis()
  if (!found.found || !found.isPrivate) throw new Error('bench: it needs a Redis of its own, to empty it')
  const server = await found.start({ appendonly: 'no' })
  const store = openRedis({ url: server.url })
  try {
    await sendEach(manyLetters(COUNT, EVERY_MS), 200, letter => store.deadLetters.send(letter))
    return await measure('Redis', store.deadLetters)
  } finally {
    await store.close()
    await server.close()
  }
}

/** Pages and counts of a million letters, for filters and orders that people use. LAZARET_BENCH_ONLY chooses one store. */
export async function run(): Promise<BenchResult> {
  const stores = { sqlite: onSqlite, postgres: onPostgres, redis: onRedis }
  const only = process.env['LAZARET_BENCH_ONLY']
  const measured: { rows: Row[]; bars: Bar[] }[] = []
  for (const [name, work] of Object.entries(stores))
    if (only === undefined || only === name) measured.push(await work())
  return {
    bench: 'letters',
    machine: machine(),
    rows: measured.flatMap(({ rows }) => rows),
    bars: measured.flatMap(({ bars }) => bars),
  }
}
