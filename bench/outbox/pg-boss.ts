import { PgBoss } from 'pg-boss'
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

const QUEUE = 'orders'
/**
 * The settings that its documentation recommends for throughput: large batches, fetched without a pause while they are
 * full.
 */
const FAST = {
  batchSize: 1_000,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  priority: false,
} as const

async function open({ url }: BenchDatabase): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, schedule: false, supervise: false, useListenNotify: true })
  boss.on('error', () => {})
  await boss.start()
  return boss
}

async function withBoss<T>(database: BenchDatabase, work: (boss: PgBoss) => Promise<T>): Promise<T> {
  const boss = await open(database)
  try {
    return await work(boss)
  } finally {
    await boss.stop()
  }
}

export const pgBoss: Candidate = {
  prepare: database =>
    withBoss(database, async boss => {
      await boss.createQueue(QUEUE, { partition: true, notify: true, retryLimit: 2, retryDelay: 0 })
    }),
  enqueueBatches: (database, count) =>
    withBoss(database, boss => {
      const batch = () =>
        boss.insert(
          QUEUE,
          Array.from({ length: BATCH }, () => ({ data: PAYLOAD })),
        )
      return perSecond(count, () => repeat(count / BATCH, batch))
    }),
  enqueueSingle: (database, count) =>
    withBoss(database, boss => perSecond(count, () => repeat(count, () => boss.send(QUEUE, PAYLOAD)))),
  enqueueInTransaction: (database, count) =>
    withBoss(database, async boss => {
      const tx = await database.pool.connect()
      const db = { executeSql: (text: string, values?: unknown[]) => tx.query(text, values) }
      const rate = await perSecond(count, () =>
        repeat(count, async () => {
          await tx.query('begin')
          await tx.query(INSERT_ORDER)
          await boss.send(QUEUE, PAYLOAD, { db })
          await tx.query('commit')
        }),
      )
      tx.release()
      return rate
    }),
  process: (database, count) =>
    withBoss(database, async boss => {
      const meter = new Meter(count)
      const handle = async () => meter.tick()
      await boss.work(QUEUE, FAST, async jobs => {
        for (const _ of jobs) await handle()
      })
      return meter.rate()
    }),
  /** A handler that throws fails its whole batch, which is faster than reporting each job. */
  failOnce: (database, count) =>
    withBoss(database, async boss => {
      const meter = new Meter(count * 2)
      const failed = new Set<string>()
      await boss.work(QUEUE, FAST, async jobs => {
        const fresh = jobs.filter(({ id }) => !failed.has(id))
        for (const { id } of fresh) {
          failed.add(id)
          meter.tick()
        }
        if (fresh.length > 0) throw new Error('the card was declined')
        for (const _ of jobs) meter.tick()
      })
      return (await meter.rate()) / 2
    }),
  latencies: (database, count) =>
    withBoss(database, async boss => {
      const handlerSignal = new HandlerSignal()
      await boss.work(QUEUE, { pollingIntervalSeconds: 0.5 }, async () => handlerSignal.notify())
      return latenciesOf(count, () => boss.send(QUEUE, PAYLOAD), handlerSignal)
    }),
}
