import { migratePostgres, openPostgres } from '../src/adapters/postgres/index.ts'
import { openRedis } from '../src/adapters/redis/index.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import type { DeadLetterQueue } from '../src/ports/dead-letters.ts'
import { findPostgres } from '../test/services/postgres.ts'
import { findRedis } from '../test/services/redis.ts'
import { makeLetters } from './harness/letters.ts'
import { PACED, PER_SECOND, pacedLatencies, ROUNDS, sendAll } from './harness/load.ts'
import { percentile } from './harness/percentile.ts'
import { atMost, type Bar, type Row, row } from './harness/result.ts'
import { withBenchDatabase } from './outbox/candidate.ts'

/** A dead-letter write may take this long at p99 (E21). */
const MAX_WRITE_MS = 5
const WARM_UP = 5_000

/** The p99 of each round at a steady rate, after a warm-up. */
async function pacedP99s(letters: DeadLetterQueue, made: readonly DeadLetter[]): Promise<number[]> {
  await sendAll(made.slice(0, WARM_UP), letter => letters.send(letter))
  const found: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const first = WARM_UP + round * PACED
    const latencies = await pacedLatencies(PACED, index => letters.send(made[first + index]!))
    found.push(percentile(latencies, 0.99))
  }
  return found
}

async function postgresP99s(made: readonly DeadLetter[]): Promise<number[]> {
  const found = await findPostgres()
  if (!found.found) throw new Error(`bench: it needs Postgres: ${found.why}`)
  const server = await found.start()
  try {
    return await withBenchDatabase(server.url, async ({ pool }) => {
      await migratePostgres(pool)
      const store = openPostgres({ pool })
      const p99s = await pacedP99s(store.deadLetters, made)
      await store.close()
      return p99s
    })
  } finally {
    await server.close()
  }
}

/** `always`: the log is synced before a write is acknowledged, as the other stores do. */
async function redisP99s(made: readonly DeadLetter[], appendfsync: 'always' | 'everysec'): Promise<number[]> {
  const found = await findRedis()
  if (!found.found || !found.isPrivate) throw new Error('bench: it needs a Redis of its own, to empty it')
  const server = await found.start({ appendonly: 'yes', appendfsync })
  try {
    const store = openRedis({ url: server.url })
    const p99s = await pacedP99s(store.deadLetters, made)
    await store.close()
    return p99s
  } finally {
    await server.close()
  }
}

/** The durable write of a dead letter on servers of this machine. */
export async function serverStoreRows(): Promise<{ rows: Row[]; bars: Bar[] }> {
  const made = makeLetters(WARM_UP + ROUNDS * PACED)
  const p99s: Readonly<Record<string, number[]>> = {
    'Postgres store': await postgresP99s(made),
    'Redis store, appendfsync always': await redisP99s(made, 'always'),
    'Redis store, appendfsync everysec': await redisP99s(made, 'everysec'),
  }
  const rows = Object.entries(p99s).map(([name, each]) =>
    row(`${name}, ${PER_SECOND} writes/s, p99`, 'ms', each),
  )
  const bars = rows.map(({ name, median }) => atMost(`${name}, ms`, median, MAX_WRITE_MS))
  return { rows, bars }
}
