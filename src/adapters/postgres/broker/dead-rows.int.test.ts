import { describe, expect, it } from 'vitest'
import { make, postgresWorld, settleAsDead, timing } from '../../../../test/support/outbox-world.ts'
import { systemClock } from '../../../ports/clock.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { type PostgresOptions, postgresDeadLetters } from '../index.ts'
import { Retention } from './retention.ts'

const { found, database, world, why } = await postgresWorld()
const DAY_MS = 86_400_000

/** An event whose row is dead, with its letter in this database or (`saved`) in another store. */
async function deadEvent({ saved = false, options = {} as Partial<PostgresOptions> } = {}) {
  const channel = uniqueName('orders')
  const outbox = world.process(options)
  const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
  const event = make.event({ channel, key: 'a' })
  await outbox.publish([event])
  await settleAsDead(inbox, await inbox.next(), saved)
  const [row] = await database!.rows<{ letter_id: string }>(
    'select letter_id from lazaret.outbox where event_id = $1',
    [event.id],
  )
  return { outbox, inbox, event, letter: row!.letter_id }
}

const letters = () => postgresDeadLetters({ pool: database!.pool })
const discard = (id: string) => letters().change(id, { to: 'discarded', at: systemClock.now() })
const statusOf = async (id: string) => (await world.rows(id)).map(({ status }) => status)

/** As if everything in the table had happened two days earlier. */
async function age(): Promise<void> {
  await database!.pool.query(
    `update lazaret.outbox set created_at = created_at - interval '2 days', failed_at = failed_at - interval '2 days'`,
  )
  await database!.pool.query(`update lazaret.outbox set deleted_at = deleted_at - interval '2 days',
    discarded_at = discarded_at - interval '2 days' where deleted_at is not null`)
}

const removals = () =>
  database!.rows<{ by: string; target: string; detail: unknown }>(
    `select by, target, detail from lazaret.audit where action = 'outbox.expire' order by seq`,
  )

describe.runIf(found.found)(`failed rows that are decided${why}`, () => {
  it('S1: one whose letter is deleted is removed when that is long ago, and the audit log tells of it', async () => {
    const { outbox, event, letter } = await deadEvent()
    await letters().delete(letter)
    expect(await outbox.removeDelivered(DAY_MS)).toBe(0)
    expect(await statusOf(event.id)).toEqual(['failed'])
    await age()
    expect(await outbox.removeDelivered(DAY_MS)).toBe(1)
    expect(await statusOf(event.id)).toEqual([])
    expect((await removals()).at(-1)).toEqual({
      by: 'retention',
      target: 'failed rows whose letters are deleted',
      detail: { rows: 1 },
    })
  })

  it.each(['keep', 'delete', 'partition'] as const)(
    'S1: consumers remove it by themselves (%s)',
    async delivered => {
      const { event, letter } = await deadEvent()
      await letters().delete(letter)
      await age()
      const { pool } = database!
      const retention = new Retention({
        pool,
        clock: new FakeClock(),
        delivered,
        deliveredRetentionMs: DAY_MS,
      })
      expect(await retention.apply()).toEqual({ rows: 1, partitions: 0 })
      expect(await statusOf(event.id)).toEqual([])
    },
  )

  it('E10: one that nobody has decided about stays, whether its letter is here or elsewhere', async () => {
    const here = await deadEvent()
    const elsewhere = await deadEvent({ saved: true })
    await age()
    expect(await here.outbox.removeDelivered(DAY_MS)).toBe(0)
    expect([await statusOf(here.event.id), await statusOf(elsewhere.event.id)]).toEqual([
      ['failed'],
      ['failed'],
    ])
  })

  it('E10: one whose letter is discarded stays as long as the letter, which can be reopened and replayed', async () => {
    const { outbox, inbox, event, letter } = await deadEvent()
    await discard(letter)
    await age()
    expect(await outbox.removeDelivered(DAY_MS)).toBe(0)
    await letters().change(letter, { to: 'dead', at: systemClock.now() })
    await database!.pool.query(`select lazaret.outbox_replay($1, null, 'ada')`, [event.id])
    await inbox.done(await inbox.next())
    expect(await letters().get(letter)).toMatchObject({ state: 'resolved' })
  })

  it('E10: one whose letter is in another store is removed once SQL has deleted it', async () => {
    const { outbox, event } = await deadEvent({ saved: true })
    await database!.pool.query('update lazaret.outbox set deleted_at = now() where event_id = $1', [event.id])
    await age()
    expect(await outbox.removeDelivered(DAY_MS)).toBe(1)
    expect(await statusOf(event.id)).toEqual([])
  })

  it('E10: one that is published again while it is removed stays', async () => {
    const { outbox, event, letter } = await deadEvent()
    await letters().delete(letter)
    await age()
    const client = await database!.pool.connect()
    await client.query('begin')
    await client.query(
      `update lazaret.outbox set status = 'pending', owner = null, failed_at = null, deleted_at = null, discarded_at = null,
         next_attempt_at = 'infinity' where event_id = $1`,
      [event.id],
    )
    let isOver = false
    const removing = outbox.removeDelivered(DAY_MS).finally(() => {
      isOver = true
    })
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await timing.eventually(async () => isOver || (await database!.rows(waiting)).length > 0, 'it waits')
    await client.query('commit')
    client.release()
    expect(await removing).toBe(0)
    expect(await statusOf(event.id)).toEqual(['pending'])
  })
})

/** Delivered rows at the end of the table. `at` is when they were created and delivered. */
const addDelivered = (count: number, at: string) =>
  database!.pool.query(
    `insert into lazaret.outbox (channel, type, target, payload, status, owner, created_at, delivered_at)
     select 'orders', 'order.placed', 'bill', '{}', 'delivered', 0, ${at}, ${at} from generate_series(1, ${count})`,
  )

function retentionOfOneDay(): Retention {
  const { pool } = database!
  return new Retention({ pool, clock: new FakeClock(), delivered: 'keep', deliveredRetentionMs: DAY_MS })
}

describe.runIf(found.found)(`the retention of a large table${why}`, () => {
  const STEP = 10_000

  it('S1: goes on behind rows of a time when the clock of the server was ahead', async () => {
    await database!.pool.query('delete from lazaret.outbox')
    await addDelivered(STEP, `now() + interval '1 year'`)
    await addDelivered(5, `now() - interval '2 days'`)
    const retention = retentionOfOneDay()
    expect(await retention.apply()).toEqual({ rows: 0, partitions: 0 })
    expect(await retention.apply()).toEqual({ rows: 5, partitions: 0 })
  })

  it.each([
    ['later', `now() + interval '1 year'`],
    ['young', `now() - interval '1 hour'`],
  ])('S1: removeDelivered() removes old rows behind many %s ones', async (_, at) => {
    await database!.pool.query('delete from lazaret.outbox')
    await addDelivered(STEP, at)
    await addDelivered(5, `now() - interval '2 days'`)
    expect(await world.process().removeDelivered(DAY_MS)).toBe(5)
  })

  it('S1: goes back to the oldest rows as soon as it reads young ones', async () => {
    await database!.pool.query('delete from lazaret.outbox')
    await addDelivered(4 * STEP, 'now()')
    const retention = retentionOfOneDay()
    await retention.apply()
    await database!.pool.query(`update lazaret.outbox set created_at = now() - interval '3 days',
      delivered_at = now() - interval '2 days' where seq in (select seq from lazaret.outbox order by seq limit 50)`)
    expect(await retention.apply()).toEqual({ rows: 50, partitions: 0 })
  })
})
