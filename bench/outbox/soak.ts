import type { Pool } from 'pg'
import { postgresOutbox } from '../../src/adapters/postgres/index.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { type BenchDatabase, PAYLOAD } from './candidate.ts'

const CHANNEL = 'orders'
const EVENT = { channel: CHANNEL, type: 'order.placed', payload: PAYLOAD }
const TICK_MS = 100
const SAMPLE_TICKS = 20

export interface Sample {
  readonly dead: number
  readonly bytes: number
  /** The rows in the outbox that are not delivered yet. */
  readonly waiting: number
}

/** Publishes events at a steady rate, of which one in ten fails once, and samples the dead rows every two seconds. */
export async function soak(
  { pool }: BenchDatabase,
  { seconds, perSecond }: { readonly seconds: number; readonly perSecond: number },
): Promise<{ readonly samples: readonly Sample[]; readonly left: number }> {
  const broker = postgresOutbox({ pool, delivered: 'delete' })
  const consumer = createConsumer({
    broker,
    channel: CHANNEL,
    concurrency: 100,
    breaker: 'off',
    // One event in ten fails at 1 000 a second. The default limit of 100 retries a second would make a backlog.
    retryLimit: 'off',
    retry: { attempts: 5, backoff: fixed({ delayMs: 200, jitter: 'none' }) },
    handle: async (_event, { attempt }) => {
      if (attempt === 1 && Math.floor(turn++ % 10) === 0) throw new Error('the card was declined')
    },
  })
  let turn = 0
  await consumer.start()
  const producer = postgresOutbox({ pool })
  const samples: Sample[] = []
  const startedAt = systemClock.now()
  for (let tick = 1; tick * TICK_MS <= seconds * 1_000; tick++) {
    await producer.enqueue(
      pool,
      Array.from({ length: (perSecond * TICK_MS) / 1_000 }, () => EVENT),
    )
    if (tick % SAMPLE_TICKS === 0) samples.push(await sample(pool))
    const waitMs = startedAt + tick * TICK_MS - systemClock.now()
    if (waitMs > 0) await new Promise<void>(resolve => systemClock.schedule(waitMs, resolve))
  }
  while ((await broker.depth(CHANNEL, CHANNEL)) > 0)
    await new Promise<void>(resolve => systemClock.schedule(TICK_MS, resolve))
  await producer.close()
  await consumer.close()
  const { rows } = await pool.query('select count(*)::int as left from lazaret.outbox')
  return { samples, left: rows[0].left }
}

async function sample(pool: Pool): Promise<Sample> {
  const { rows } = await pool.query(
    `select sum(n_dead_tup)::float8 as dead, sum(pg_total_relation_size(relid))::float8 as bytes,
       (select count(*)::float8 from lazaret.outbox) as waiting
     from pg_stat_user_tables where schemaname = 'lazaret'`,
  )
  return rows[0]
}
