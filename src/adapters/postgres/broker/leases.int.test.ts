import { Pool } from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { make, OutboxWorld, timing } from '../../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import { idOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const world = new OutboxWorld(database!)
afterEach(async () => {
  await world.close()
  await database?.clear()
})
afterAll(async () => {
  await database?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`
const DONE = { outcome: 'done' } as const
const LOST = { code: 'LAZARET_DELIVERY_LOST' }

describe.runIf(found.found)(`leases that are lost${why}`, () => {
  it('E21: what is claimed again while its first handler still runs is not forgotten with it', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process({ leaseMs: 600_000, maxPollMs: 50 })
    const inbox = await world.subscribe(outbox, channel)
    const [event, other] = make.events(2, { channel })
    await outbox.publish([event!])
    const first = await inbox.next()
    await inbox.subscription.begin(first, [])
    await world.endLeases()
    const second = await inbox.next()
    await inbox.subscription.begin(second, [])
    await expect(inbox.subscription.settle(first, DONE)).rejects.toMatchObject(LOST)
    // The next claim clears away the notes of claims that have ended.
    await outbox.publish([other!])
    await inbox.next()
    await world.endLeases()
    // The first process that polls gets both again; it may be the same process.
    const again = (await inbox.take(2)).find(delivery => idOf(delivery) === event!.id)
    expect(again?.started, 'it comes again, and both attempts count').toBe(2)
  })

  it('B8: who asks when its own lease is over, as after a server that stood still, takes nobody for dead', async () => {
    const owner = async (until: string) =>
      (
        await database!.rows<{ id: string }>(
          `insert into lazaret.outbox_owners (lease_until) values (clock_timestamp() + $1::interval) returning id`,
          [until],
        )
      )[0]!.id
    const [asker, other] = [await owner('-1 s'), await owner('-1 s')]
    const isThere = async (id: string) =>
      (await database!.rows('select from lazaret.outbox_owners where id = $1', [id])).length === 1
    await database!.pool.query('select lazaret.outbox_reclaim(false, $1)', [asker])
    expect([await isThere(asker), await isThere(other)]).toEqual([true, true])
    await database!.pool.query('select lazaret.outbox_reclaim(false, $1)', [await owner('1 min')])
    expect([await isThere(asker), await isThere(other)]).toEqual([false, false])
  })

  it('E21: an event in flight without an owner is delivered again', async () => {
    const channel = uniqueName('orders')
    const inbox = await world.subscribe(world.process({ leaseMs: 300, maxPollMs: 50 }), channel)
    const [event] = make.events(1, { channel })
    const writer = world.process()
    inbox.subscription.pause()
    await writer.publish([event!])
    await database!.pool.query(
      `update lazaret.outbox set status = 'in_flight', owner = 0 where event_id = $1`,
      [event!.id],
    )
    inbox.subscription.resume()
    expect(idOf(await inbox.next())).toBe(event!.id)
    const owners = await database!.rows('select id from lazaret.outbox_owners')
    expect(owners).toHaveLength(1)
    await timing.quiet()
    await inbox.assertEmpty('it came twice')
  })
})

/** Resolves when the lease of the only process was renewed that often. */
async function untilRenewed(times: number): Promise<void> {
  const owners = new Set<string>()
  const seen = new Set<string>()
  await timing.eventually(async () => {
    const rows = await database!.rows<{ id: string; until: string }>(
      'select id::text, lease_until::text as until from lazaret.outbox_owners',
    )
    for (const { id } of rows) owners.add(id)
    for (const { until } of rows) seen.add(until)
    return seen.size > times
  }, `the lease is renewed ${times} times`)
  expect(owners.size).toBe(1)
}

describe.runIf(found.found)(`leases that are kept${why}`, () => {
  it('B8: reading the retained events delays neither a lease nor a settlement nor a subscription', async () => {
    const channel = uniqueName('orders')
    await database!.pool.query(`create table lazaret.outbox_delivered_20200101 partition of lazaret.outbox_delivered
      for values from ('2020-01-01 00:00:00+00') to ('2020-01-02 00:00:00+00')`)
    const reader = await database!.pool.connect()
    await reader.query('begin; select count(*) from lazaret.outbox_delivered')
    const outbox = world.process({ leaseMs: 900, delivered: 'partition', deliveredRetentionMs: 86_400_000 })
    const inbox = await world.subscribe(outbox, channel)
    await outbox.publish(make.events(1, { channel }))
    const delivery = await inbox.next()
    await untilRenewed(4)
    await inbox.done(delivery)
    await reader.query('commit')
    reader.release()
    const isThere = `select to_regclass('lazaret.outbox_delivered_20200101') is not null as "isThere"`
    await timing.eventually(
      async () => !(await database!.rows<{ isThere: boolean }>(isThere))[0]!.isThere,
      'the day is dropped when nobody reads it any more',
    )
  })

  it.each([true, false])(
    'B8: handlers that have all other connections do not end the lease (listen: %s)',
    async listen => {
      const channel = uniqueName('orders')
      const pool = new Pool({ connectionString: database!.url, max: 3 })
      const outbox = world.process({ pool, leaseMs: 600, listen })
      await world.subscribe(outbox, channel)
      const handlers = await Promise.all([pool.connect(), pool.connect()])
      try {
        await untilRenewed(5)
      } finally {
        for (const each of handlers) each.release()
      }
      await outbox.close()
      await pool.end()
    },
  )
})

describe.runIf(server?.node)(`an outage${why}`, () => {
  it('B8: one that outlasts every lease ends no process that lives', async () => {
    const LEASE_MS = 1_200
    const channel = uniqueName('orders')
    const inboxes = []
    for (let process = 0; process < 3; process++) {
      const outbox = world.process({ leaseMs: LEASE_MS, maxPollMs: 50 })
      inboxes.push(await world.subscribe(outbox, channel, { prefetch: 1 }))
      // They renew their leases one after the other, not all at once.
      await timing.pass(LEASE_MS / 10)
    }
    await world.process().publish(make.events(3, { channel }))
    const deliveries = await Promise.all(inboxes.map(inbox => inbox.next()))
    for (const [index, inbox] of inboxes.entries()) await inbox.subscription.begin(deliveries[index]!, [])
    const leases = (isOver: boolean) =>
      database!.rows<{ id: string }>(
        'select id from lazaret.outbox_owners where (lease_until < clock_timestamp()) = $1 order by id',
        [isOver],
      )
    const owners = await leases(false)
    expect(owners).toHaveLength(3)
    await server!.node!.kill()
    await timing.pass(LEASE_MS)
    await server!.node!.start()
    await timing.eventually(
      async () => (await leases(false).catch(() => [])).length === 3,
      'all leases are renewed',
    )
    expect(await leases(false)).toEqual(owners)
    for (const [index, inbox] of inboxes.entries()) await inbox.done(deliveries[index]!)
    await inboxes[0]!.assertEmpty('somebody was taken for dead')
  })
})
