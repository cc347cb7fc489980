import type { Pool } from 'pg'
import { migratePostgres, postgresOutbox } from '../../src/adapters/postgres/index.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { Meter } from '../harness/meter.ts'
import { type BenchDatabase, PAYLOAD } from './candidate.ts'

const CHANNEL = 'orders'
const EVENT = { channel: CHANNEL, type: 'order.placed', payload: PAYLOAD }

/** Fills the table with rows of delivered and failed events. */
export async function fillWithHistory(pool: Pool, delivered: number, failed: number): Promise<void> {
  const columns = `idempotency_key, channel, type, target, payload, status, attempts, attempts_ended, owner`
  const common = `'key-' || n, '${CHANNEL}', 'order.placed', '${CHANNEL}', $1::json`
  await pool.query(
    `insert into lazaret.outbox (${columns}, delivered_at)
     select ${common}, 'delivered', 1, 1, 1, now() from generate_series(1, $2::int) as n`,
    [JSON.stringify(PAYLOAD), delivered],
  )
  await pool.query(
    `insert into lazaret.outbox (${columns}, last_error, first_failed_at, failed_at, letter_id)
     select ${common}, 'failed', 5, 5, 1, 'Error: the card was declined', now(), now(), 'letter-' || n
     from generate_series(1, $2::int) as n`,
    [JSON.stringify(PAYLOAD), failed],
  )
  await pool.query('vacuum analyze lazaret.outbox')
}

export interface Drained {
  readonly perSecond: number
  /** The milliseconds of each claim that got rows. */
  readonly claims: readonly number[]
}

/** Enqueues events and handles them, and measures each claim on its way to the server. */
export async function drain({ pool }: BenchDatabase, count: number): Promise<Drained> {
  const filling = postgresOutbox({ pool })
  for (let done = 0; done < count; done += 1_000)
    await filling.enqueue(
      pool,
      Array.from({ length: 1_000 }, () => EVENT),
    )
  await filling.close()
  const claims: number[] = []
  const watched = {
    connect: () => pool.connect(),
    async query(text: string, values?: unknown[]) {
      const startedAt = process.hrtime.bigint()
      const answer = await pool.query(text, values)
      if (text.startsWith('with alive') && (answer.rowCount ?? 0) > 0)
        claims.push(Number(process.hrtime.bigint() - startedAt) / 1e6)
      return answer
    },
  }
  const meter = new Meter(count)
  const consumer = createConsumer({
    broker: postgresOutbox({ pool: watched }),
    channel: CHANNEL,
    concurrency: 100,
    prefetch: 200,
    observer: { eventProcessed: meter.tick },
    handle: async () => {},
  })
  await consumer.start()
  const perSecond = await meter.rate()
  await consumer.close()
  return { perSecond, claims }
}

export async function prepare({ pool }: BenchDatabase): Promise<void> {
  await migratePostgres(pool)
  const consumer = createConsumer({
    broker: postgresOutbox({ pool }),
    channel: CHANNEL,
    handle: () => {},
  })
  await consumer.start()
  await consumer.close()
}
