import { describe, expect, it } from 'vitest'
import { drain, fillWithHistory, prepare } from '../../../../bench/outbox/growth.ts'
import { make, postgresWorld, settleAsDead, timing } from '../../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import { systemClock } from '../../../ports/clock.ts'
import { createConsumer } from '../../../runtime/consumer/consumer.ts'
import { createMetrics } from '../../../runtime/metrics/create-metrics.ts'
import { idOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import type { PostgresOptions } from '../index.ts'
import { Retention } from './retention.ts'

const { found, server, database, world, why } = await postgresWorld()
const DAY_MS = 86_400_000

/** One event delivered, one failed and one waiting for its handler. */
async function threeEvents(options: Partial<PostgresOptions>) {
  const channel = uniqueName('orders')
  const outbox = world.process(options)
  const inbox = await world.subscribe(outbox, channel, { prefetch: 1 })
  const [delivered, failed, waiting] = [1, 2, 3].map(() => make.event({ channel }))
  await outbox.publish([delivered!, failed!, waiting!])
  const first = await inbox.next()
  expect(idOf(first)).toBe(delivered!.id)
  await inbox.subscription.begin(first, [])
  await inbox.subscription.settle(first, { outcome: 'done' })
  await settleAsDead(inbox, await inbox.next())
  await inbox.next()
  return { outbox, delivered: delivered!.id, failed: failed!.id, waiting: waiting!.id }
}

const statusOf = async (id: string) => (await world.rows(id)).map(({ status }) => status)

describe.runIf(found.found)(`what becomes of delivered rows${why}`, () => {
  it('S1: kept, they are removed when they are old, and nothing else is', async () => {
    const { outbox, delivered, failed, waiting } = await threeEvents({})
    expect(await outbox.removeDelivered(DAY_MS)).toBe(0)
    await database!.pool.query(`update lazaret.outbox set delivered_at = delivered_at - interval '2 days',
      created_at = created_at - interval '2 days'`)
    expect(await outbox.removeDelivered(DAY_MS)).toBe(1)
    expect([await statusOf(delivered), await statusOf(failed), await statusOf(waiting)]).toEqual([
      [],
      ['failed'],
      ['in_flight'],
    ])
  })

  it('S1: with a retention, consumers remove them by themselves', async () => {
    const { delivered, failed } = await threeEvents({ deliveredRetentionMs: 1, leaseMs: 60 })
    await timing.eventually(async () => (await statusOf(delivered)).length === 0, 'the row is gone')
    expect(await statusOf(failed)).toEqual(['failed'])
  })

  it('S1: with a retention, one round goes on while there is something to remove', async () => {
    const channel = uniqueName('orders')
    await database!.pool.query(
      `insert into lazaret.outbox (channel, type, target, payload, status, owner, delivered_at)
       select $1, 'order.placed', 'bill', '{}', 'delivered', 0, now() - interval '1 day' from generate_series(1, 25000)`,
      [channel],
    )
    const { pool } = database!
    const clock = new FakeClock()
    await new Retention({ pool, clock, delivered: 'keep', deliveredRetentionMs: 1_000 }).apply()
    expect(await database!.rows('select from lazaret.outbox where channel = $1 limit 1', [channel])).toEqual(
      [],
    )
  })

  it('S1: partitioned away, they lie in the partition of their day, which is dropped as a whole', async () => {
    const { outbox, delivered } = await threeEvents({ delivered: 'partition' })
    expect(await statusOf(delivered)).toEqual([])
    const where = `select tableoid::regclass::text as place, status, attempts from lazaret.outbox_delivered
      where event_id = $1`
    const today = new Date(systemClock.now()).toISOString().slice(0, 10).replaceAll('-', '')
    expect(await database!.rows(where, [delivered])).toEqual([
      { place: `lazaret.outbox_delivered_${today}`, status: 'delivered', attempts: 1 },
    ])
    await database!.pool.query(`create table lazaret.outbox_delivered_20200101 partition of lazaret.outbox_delivered
      for values from ('2020-01-01 00:00:00+00') to ('2020-01-02 00:00:00+00')`)
    const age = 'update lazaret.outbox_delivered set delivered_at = $2 where event_id = $1'
    await database!.pool.query(age, [delivered, '2020-01-01 12:00:00+00'])
    expect(await outbox.removeDelivered(DAY_MS)).toBe(1)
    expect(await database!.rows(`select to_regclass('lazaret.outbox_delivered_20200101') as day`)).toEqual([
      { day: null },
    ])
  })

  it('R10: the retention of a consumer counts the partitions and rows that it removes', async () => {
    const channel = uniqueName('orders')
    const days = ['20200105', '20200106']
    for (const day of days)
      await database!.pool.query(`create table lazaret.outbox_delivered_${day} partition of lazaret.outbox_delivered
        for values from ('${day} 00:00:00+00') to ('${day} 23:59:59+00')`)
    // Five rows of a day with a partition, and three of a day without one.
    await database!.pool.query(
      `insert into lazaret.outbox (channel, type, target, payload, status, owner, delivered_at)
       select $1, 'order.placed', 'bill', '{}', 'delivered', 0,
         timestamptz '2020-01-05 12:00:00+00' - (n / 6) * interval '300 days' from generate_series(1, 8) as n`,
      [channel],
    )
    await database!.pool.query(
      `with moved as (delete from lazaret.outbox where channel = $1 returning *)
       insert into lazaret.outbox_delivered select d.* from moved,
         jsonb_populate_record(null::lazaret.outbox_delivered, to_jsonb(moved)) as d`,
      [channel],
    )
    const metrics = createMetrics()
    const { observer } = metrics
    const broker = world.process({
      delivered: 'partition',
      deliveredRetentionMs: DAY_MS,
      leaseMs: 60,
      name: channel,
    })
    const consumer = createConsumer({ broker, channel, observer, handle: () => {} })
    await consumer.start()
    const counted = async () =>
      (await metrics.read())
        .find(({ name }) => name.endsWith('outbox_removed_total'))!
        .samples.map(each => `${Object.values(each.labels).join(' ')} ${'value' in each && each.value}`)
        .sort()
    const expected = [`${channel} partition 2`, `${channel} row 3`]
    await timing.eventually(async () => (await counted()).join() === expected.join(), 'both are counted')
    for (const day of days)
      expect(await database!.rows(`select to_regclass('lazaret.outbox_delivered_${day}') as day`)).toEqual([
        { day: null },
      ])
    await consumer.close()
  })

  it('R10: rows that the retention deletes one by one are counted too', async () => {
    const channel = uniqueName('orders')
    await database!.pool.query(
      `insert into lazaret.outbox (channel, type, target, payload, status, owner, delivered_at)
       select $1, 'order.placed', 'bill', '{}', 'delivered', 0, now() - interval '9 days' from generate_series(1, 7)`,
      [channel],
    )
    const { pool } = database!
    const clock = new FakeClock()
    const retention = new Retention({ pool, clock, delivered: 'keep', deliveredRetentionMs: 8 * DAY_MS })
    expect(await retention.apply()).toEqual({ rows: 7, partitions: 0 })
    expect(await retention.apply()).toEqual({ rows: 0, partitions: 0 })
  })

  it('S1: a delivery on a day without a partition is not lost', async () => {
    const { outbox, delivered } = await threeEvents({ delivered: 'partition' })
    await database!.pool.query(
      `update lazaret.outbox_delivered set delivered_at = '2019-05-05' where event_id = $1`,
      [delivered],
    )
    expect(await outbox.removeDelivered(DAY_MS)).toBe(1)
  })
})

describe.runIf(found.found)(`a table with a past${why}`, () => {
  it('S1: claims find their rows by the index of what is pending, whatever else is in the table', async () => {
    const past = await TestDatabase.migrated(server!)
    try {
      await prepare(past)
      await fillWithHistory(past.pool, 20_000, 20_000)
      const statements: string[] = []
      const watched = { ...past, pool: watching(past.pool, statements) }
      await drain(watched as never, 1_000)
      const claim = statements.find(text => text.startsWith('with alive'))!
      const values = ['orders', 'orders', 1, 0, 100, 1, '{}']
      const plan = await past.rows<{ 'QUERY PLAN': string }>(`explain ${withValues(claim, values)}`)
      const lines = plan.map(line => line['QUERY PLAN']).join('\n')
      expect(lines).toContain('Index Scan using outbox_pending on outbox c')
      expect(lines).toContain('Tid Scan on outbox o')
      expect(lines).not.toContain('Seq Scan on outbox ')
    } finally {
      await past.close()
    }
  })

  it('S1: what is settled as done is written beside its row, and in no index', async () => {
    const fresh = await TestDatabase.migrated(server!)
    try {
      await prepare(fresh)
      await drain(fresh, 2_000)
      const updates = async () =>
        (
          await fresh.rows<{ all: number; hot: number }>(
            `select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'outbox'`,
          )
        )[0]!
      await timing.eventually(async () => {
        await tellCounts(fresh)
        return (await updates()).all >= 4_000
      }, 'updates are counted')
      expect((await updates()).hot).toBeGreaterThan(1_500)
    } finally {
      await fresh.close()
    }
  })
})

/**
 * A connection tells what it has counted ten seconds after its last statement, or when it is asked to. Postgres 14 cannot be
 * asked: there it tells with its next statement, twice a second at most.
 */
async function tellCounts({ pool }: TestDatabase): Promise<void> {
  const asking = `select to_regproc('pg_stat_force_next_flush') is not null as "canAsk"`
  const { canAsk } = (await pool.query(asking)).rows[0]
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
  for (const client of clients) {
    await client.query(canAsk ? 'select pg_stat_force_next_flush()' : 'select 1')
    client.release()
  }
}

function watching(pool: TestDatabase['pool'], statements: string[]) {
  return {
    connect: () => pool.connect(),
    query(text: string, values?: unknown[]) {
      statements.push(text)
      return pool.query(text, values)
    },
  }
}

function withValues(text: string, values: readonly (string | number)[]): string {
  return text.replaceAll(/\$(\d)/g, (_, number) => {
    const value = values[Number(number) - 1]!
    return typeof value === 'number' ? String(value) : `'${value}'`
  })
}
