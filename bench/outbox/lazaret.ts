import { migratePostgres, postgresOutbox } from '../../src/adapters/postgres/index.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { type ConsumerOptions, createConsumer } from '../../src/index.ts'
import { perSecond } from '../harness/load.ts'
import { Meter } from '../harness/meter.ts'
import {
  BATCH,
  type BenchDatabase,
  type Candidate,
  HandlerSignal,
  INSERT_ORDER,
  latenciesOf,
  PAYLOAD,
  repeat,
} from './candidate.ts'

const CHANNEL = 'orders'
const EVENT = { channel: CHANNEL, type: 'order.placed', payload: PAYLOAD }
const CONCURRENCY = 1_000

type Delivered = 'keep' | 'delete'

function consume(
  { pool }: BenchDatabase,
  delivered: Delivered,
  options: Pick<ConsumerOptions, 'handle'> & Partial<ConsumerOptions>,
) {
  const broker = postgresOutbox({ pool, delivered })
  return createConsumer({
    broker,
    channel: CHANNEL,
    concurrency: CONCURRENCY,
    prefetch: CONCURRENCY * 3,
    ...options,
  })
}

/** Registers the handler before the events, as in a service that has run before. */
async function prepare(database: BenchDatabase): Promise<void> {
  await migratePostgres(database.pool)
  const consumer = consume(database, 'keep', { handle: () => {} })
  await consumer.start()
  await consumer.close()
}

async function enqueueBatches({ pool }: BenchDatabase, count: number): Promise<number> {
  const outbox = postgresOutbox({ pool })
  const batch = () =>
    outbox.enqueue(
      pool,
      Array.from({ length: BATCH }, () => EVENT),
    )
  const rate = await perSecond(count, () => repeat(count / BATCH, batch))
  await outbox.close()
  return rate
}

/** Settlements per second, from the first to the last. */
async function settled(
  database: BenchDatabase,
  delivered: Delivered,
  count: number,
  options: Pick<ConsumerOptions, 'handle'> & Partial<ConsumerOptions>,
): Promise<number> {
  const meter = new Meter(count)
  const consumer = consume(database, delivered, { ...options, observer: { eventProcessed: meter.tick } })
  await consumer.start()
  const rate = await meter.rate()
  await consumer.close()
  const { rows } = await database.pool.query(
    `select count(*)::int as left from lazaret.outbox where status <> 'delivered'`,
  )
  if (rows[0].left !== 0) throw new Error(`bench: ${rows[0].left} events are not delivered`)
  return rate
}

const keeping: Candidate = {
  prepare,
  enqueueBatches,
  async enqueueSingle({ pool }, count) {
    const outbox = postgresOutbox({ pool })
    const rate = await perSecond(count, () => repeat(count, () => outbox.enqueue(pool, EVENT)))
    await outbox.close()
    return rate
  },
  async enqueueInTransaction({ pool }, count) {
    const outbox = postgresOutbox({ pool })
    const tx = await pool.connect()
    const rate = await perSecond(count, () =>
      repeat(count, async () => {
        await tx.query('begin')
        await tx.query(INSERT_ORDER)
        await outbox.enqueue(tx, EVENT)
        await tx.query('commit')
      }),
    )
    tx.release()
    await outbox.close()
    return rate
  },
  process: (database, count) => settled(database, 'keep', count, { handle: async () => {} }),
  failOnce: async (database, count) => {
    const options: Pick<ConsumerOptions, 'handle'> & Partial<ConsumerOptions> = {
      breaker: 'off',
      // The bench measures what a failure costs, beside peers without a limit. The default limit would set the pace.
      retryLimit: 'off',
      retry: { attempts: 5, backoff: fixed({ delayMs: 1, jitter: 'none' }) },
      // Retries go through the table, as with the other candidates.
      inProcessWaitMs: 0,
      handle: async (_event, { attempt }) => {
        if (attempt === 1) throw new Error('the card was declined')
      },
    }
    return (await settled(database, 'keep', count * 2, options)) / 2
  },
  async latencies(database, count) {
    const handlerSignal = new HandlerSignal()
    const consumer = consume(database, 'keep', { handle: async () => handlerSignal.notify() })
    await consumer.start()
    const outbox = postgresOutbox({ pool: database.pool })
    const latencies = await latenciesOf(count, () => outbox.enqueue(database.pool, EVENT), handlerSignal)
    await outbox.close()
    await consumer.close()
    return latencies
  },
}

export { keeping as lazaret }

/** Delivered rows are deleted. */
export const lazaretDeleting: Candidate = {
  prepare,
  enqueueBatches,
  process: (database, count) => settled(database, 'delete', count, { handle: async () => {} }),
}
