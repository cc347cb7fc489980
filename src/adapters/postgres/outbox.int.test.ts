import { Client } from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../test/services/postgres.ts'
import { die, make, OutboxWorld, patience } from '../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../test/support/postgres.ts'
import { REPLAY_HEADERS } from '../../core/event/replay-headers.ts'
import type { Delivery } from '../../ports/broker.ts'
import { createSealing } from '../../runtime/sealing/sealing.ts'
import { eventOf, idOf } from '../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const world = new OutboxWorld(database!)
afterEach(() => world.close())
afterAll(async () => {
  await database?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`
const DONE = { outcome: 'done' } as const

describe.runIf(found.found)(`enqueueing${why}`, () => {
  it('S1: events are there when the transaction commits, and never were when it does not', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const tx = await database!.pool.connect()
    await tx.query('begin')
    await outbox.enqueue(tx, { channel, type: 'order.placed', payload: { order: 1 } })
    await tx.query('rollback')
    await tx.query('begin')
    const inputs = [2, 3].map(order => ({ channel, type: 'order.placed', payload: { order } }))
    const events = await outbox.enqueue(tx, inputs)
    await inbox.assertEmpty('it was delivered before its transaction was over')
    await tx.query('commit')
    tx.release()
    const deliveries = await inbox.take(2)
    expect(deliveries.map(eventOf)).toEqual(events)
    await inbox.done(...deliveries)
    await inbox.assertEmpty('what was rolled back was delivered')
  })

  it.each([
    ['NUL', { a: ['x\0y'] }, /payload\.a\[0\].*NUL.*remove it/s],
    ['NUL in a name', { 'x\0': 1 }, /a name in payload.*NUL/s],
    ['half a surrogate pair', 'x\ud800', /half a surrogate pair/],
    ['over the limit', 'x'.repeat(2_000_000), /keep it within 1048576 bytes/],
  ])('S1: a payload with %s is refused, and the transaction can go on', async (_, payload, message) => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const tx = await database!.pool.connect()
    await tx.query('begin')
    const refused = outbox.enqueue(tx, { channel, type: 'order.placed', payload })
    await expect(refused).rejects.toMatchObject({ code: 'LAZARET_EVENT_INVALID' })
    await expect(refused).rejects.toThrow(message)
    const event = await outbox.enqueue(tx, {
      channel,
      type: 'order.placed',
      payload: 'a \\u0000 that is none',
    })
    await tx.query('commit')
    tx.release()
    expect(await world.rows(event.id)).toHaveLength(1)
    const bytes = make.event({ channel, payload: new Uint8Array([0, 0xd8]) })
    await outbox.publish([bytes])
  })

  it('S1: an event whose id is no UUID keeps it', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
    const event = make.event({ id: 'order-17', channel, key: 'a' })
    await outbox.publish([event])
    const delivery = await inbox.next()
    expect(delivery.content).toEqual(event)
    await die(inbox, delivery)
    await outbox.publish([event])
    await inbox.done(await inbox.next())
  })

  it('P2: with a codec that seals, nothing of the payload is to be read, and a replay from psql works', async () => {
    const channel = uniqueName('orders')
    const codec = createSealing({ current: 'k1', keys: { k1: new Uint8Array(32) } })
    const outbox = world.process({ codec })
    const inbox = await world.subscribe(outbox, channel)
    const event = make.event({ channel, payload: { secret: 'hush' }, headers: { 'x-trace': 'hush' } })
    await outbox.publish([event])
    const delivery = await inbox.next()
    expect(delivery.content).toEqual(event)
    await die(inbox, delivery)
    const stored = await database!.rows(
      'select o.*, d.body from lazaret.outbox o join lazaret.dead_letters d on d.id = o.letter_id where o.channel = $1',
      [channel],
    )
    expect(JSON.stringify(stored)).not.toContain('hush')
    await database!.pool.query(`select lazaret.outbox_replay($1, 0, 'ada')`, [event.id])
    const again = eventOf(await inbox.next())
    expect(again.payload).toEqual(event.payload)
    expect(again.headers).toMatchObject({ 'x-trace': 'hush', 'x-replay-attempt': '1' })
  })

  it('S6: what another program inserts goes to every handler', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inboxes = [
      await world.subscribe(outbox, channel),
      await world.subscribe(outbox, channel, { handler: 'ship', ordering: 'by-key' }),
    ]
    await database!.pool.query(
      `insert into lazaret.outbox (channel, type, key, payload) values ($1, 'order.placed', 'a', '{"order": 7}')`,
      [channel],
    )
    const [bill, ship] = [await inboxes[0]!.next(), await inboxes[1]!.next()]
    expect(eventOf(bill)).toMatchObject({ type: 'order.placed', key: 'a', payload: { order: 7 } })
    expect(eventOf(ship)).toEqual(eventOf(bill))
    await inboxes[0]!.done(bill)
    await inboxes[1]!.done(ship)
  })

  it('S6: a role that only enqueues needs no more than the page says', async () => {
    const channel = uniqueName('orders')
    const role = uniqueName('shop').replaceAll('-', '_')
    await database!.pool.query(
      `create role ${role} login; grant usage on schema lazaret to ${role};
       grant insert on lazaret.outbox to ${role}; grant select on lazaret.outbox_handlers to ${role}`,
    )
    const inbox = await world.subscribe(world.process(), channel)
    const url = new URL(database!.url)
    url.username = role
    const client = new Client({ connectionString: url.href })
    await client.connect()
    try {
      const event = await world.process().enqueue(client, { channel, type: 'order.placed' })
      expect(idOf(await inbox.next())).toBe(event.id)
      await client.query(`insert into lazaret.outbox (channel, type) values ($1, 'order.placed')`, [channel])
      await inbox.next()
      await expect(client.query('select payload from lazaret.outbox')).rejects.toThrow('permission denied')
    } finally {
      await client.end()
    }
    await database!.pool.query(`drop owned by ${role}; drop role ${role}`)
  })

  it('B9: what another program inserts has its place in the order of its key', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
    inbox.subscription.pause()
    await database!.pool.query(
      `insert into lazaret.outbox (event_id, channel, type, key) values
       ('00000000-0000-7000-8000-000000000001', $1, 'order.placed', 'a')`,
      [channel],
    )
    await outbox.publish(make.events(1, { channel, key: 'a' }))
    inbox.subscription.resume()
    expect(idOf(await inbox.next())).toBe('00000000-0000-7000-8000-000000000001')
    await inbox.assertEmpty('a later event of the key overtook it')
  })

  it('S9: another process is told: one that never looks by itself finds it', async () => {
    const channel = uniqueName('orders')
    const inbox = await world.subscribe(world.stoppedProcess(), channel)
    await inbox.assertEmpty('nothing was enqueued yet')
    await world.process().publish(make.events(1, { channel }))
    await inbox.done(await inbox.next())
  })

  it('S9: without notices and without listening, polling finds what there is', async () => {
    const channel = uniqueName('orders')
    const inbox = await world.subscribe(world.process({ listen: false, maxPollMs: 50 }), channel)
    await world.process({ notify: false }).publish(make.events(1, { channel }))
    await inbox.done(await inbox.next())
  })

  it('B8: several handlers each have their own row, attempts and end', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const bill = await world.subscribe(outbox, channel)
    const ship = await world.subscribe(outbox, channel, { handler: 'ship' })
    const [event] = make.events(1, { channel })
    await outbox.publish([event!])
    await die(bill, await bill.next())
    await ship.done(await ship.next())
    const rows = await world.rows(event!.id)
    expect(rows.map(({ target, status, attempts }) => [target, status, attempts]).sort()).toEqual([
      ['bill', 'failed', 1],
      ['ship', 'delivered', 0],
    ])
    await outbox.publish([{ ...event!, headers: { [REPLAY_HEADERS.handler]: 'bill' } }])
    await bill.done(await bill.next())
    await ship.assertEmpty('a replay for another handler came here')
  })

  it('a generation is left to consumers that have it', async () => {
    const channel = uniqueName('orders')
    const [old, young] = [world.process({ maxPollMs: 50 }), world.process({ generation: 2, maxPollMs: 50 })]
    const inbox = await world.subscribe(old, channel)
    await old.enqueue(database!.pool, { channel, type: 'order.placed' }, { generation: 2 })
    await inbox.assertEmpty('a consumer got what is for a later generation')
    const later = await world.subscribe(young, channel)
    await later.done(await later.next())
  })
})

describe.runIf(found.found)(`replaying from psql${why}`, () => {
  it('S5: the same event comes again in place, with its ended cycle in the history', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const event = make.event({ channel, idempotencyKey: 'charge-1' })
    await outbox.publish([event])
    await die(inbox, await inbox.next())
    const [failed] = await world.rows(event.id)
    expect(failed).toMatchObject({
      status: 'failed',
      attempts: 1,
      last_error: expect.stringContaining('ECONNREFUSED'),
    })
    const replay = 'select lazaret.outbox_replay($1, $2, $3) as count'
    const counts = await Promise.all(
      ['ada', 'bob'].map(
        async by => (await database!.rows<{ count: number }>(replay, [event.id, 3, by]))[0]!.count,
      ),
    )
    expect(counts.sort()).toEqual([0, 1])
    const delivery = await world
      .subscribe(world.process({ generation: 3 }), channel)
      .then(each => each.next())
    expect(eventOf(delivery)).toMatchObject({
      id: event.id,
      idempotencyKey: 'charge-1',
      payload: event.payload,
    })
    expect(eventOf(delivery).headers).toMatchObject({ 'x-replayed': 'true', 'x-replay-attempt': '1' })
    expect([delivery.started, delivery.ended]).toEqual([0, 0])
    const [row] = await world.rows(event.id)
    expect(row).toMatchObject({ generation: '3', last_error: null, attempts: 0 })
    expect(row!.failure_history).toEqual([
      {
        generation: 0,
        attempts: 1,
        last_error: failed!.last_error,
        first_failed_at: expect.any(String),
        failed_at: expect.any(String),
        replayed_by: expect.stringMatching(/ada|bob/),
        replayed_at: expect.any(String),
      },
    ])
    expect(
      await database!.rows('select action, by from lazaret.audit where target = $1', [event.id]),
    ).toEqual([{ action: 'outbox.replay', by: expect.stringMatching(/ada|bob/) }])
  })

  it('S5: its letter is replaying, and resolved when the event is handled', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const [event] = make.events(1, { channel })
    await outbox.publish([event!])
    await die(inbox, await inbox.next())
    await database!.pool.query(`select lazaret.outbox_replay($1, null, 'ada')`, [event!.id])
    const state = async () =>
      (
        await database!.rows('select state, replays from lazaret.dead_letters where channel = $1', [channel])
      )[0]
    expect(await state()).toEqual({ state: 'replaying', replays: 1 })
    await inbox.done(await inbox.next())
    expect(await state()).toEqual({ state: 'resolved', replays: 1 })
    expect((await world.rows(event!.id)).map(({ status }) => status)).toEqual(['delivered'])
  })

  it('S5: a role that may do nothing else can do it', async () => {
    const channel = uniqueName('orders')
    const role = uniqueName('ops').replaceAll('-', '_')
    await database!.pool.query(
      `create role ${role} login; grant usage on schema lazaret to ${role};
       grant execute on function lazaret.outbox_replay(uuid, bigint, text) to ${role}`,
    )
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const [event] = make.events(1, { channel })
    await outbox.publish([event!])
    await die(inbox, await inbox.next())
    const url = new URL(database!.url)
    url.username = role
    const client = new Client({ connectionString: url.href })
    await client.connect()
    try {
      await expect(client.query('select 1 from lazaret.outbox')).rejects.toThrow('permission denied')
      await expect(client.query(`select lazaret.outbox_replay($1, 1, ' ')`, [event!.id])).rejects.toThrow(
        'who replays',
      )
      expect(
        (await client.query(`select lazaret.outbox_replay($1, 0, 'ops') as n`, [event!.id])).rows,
      ).toEqual([{ n: 1 }])
    } finally {
      await client.end()
    }
    await inbox.done(await inbox.next())
    await database!.pool.query(`drop owned by ${role}; drop role ${role}`)
  })

  it.each([
    ['discarding its letter', `update lazaret.dead_letters set state = 'discarded' where channel = $1`],
    ['deleting its letter', 'delete from lazaret.dead_letters where channel = $1'],
    [
      'deleting the row',
      `update lazaret.outbox set deleted_at = now() where channel = $1 and status = 'failed'`,
    ],
  ])('B9: %s lets the later events of its key go', async (_, statement) => {
    const channel = uniqueName('orders')
    const outbox = world.process({ maxPollMs: 50 })
    const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
    const [dead, next] = make.events(2, { channel, key: 'a' })
    await outbox.publish([dead!, next!])
    await die(inbox, await inbox.next())
    await inbox.assertEmpty('the key went on over its dead event')
    await database!.pool.query(statement, [channel])
    expect(idOf(await inbox.next())).toBe(next!.id)
    const [row] = await world.rows(dead!.id)
    expect(row!.deleted_at).not.toBeNull()
    const letters = await database!.rows('select state from lazaret.dead_letters where channel = $1', [
      channel,
    ])
    expect(letters).toEqual(statement.startsWith('delete') ? [] : [{ state: 'discarded' }])
  })
})

describe.runIf(found.found)(`processes that die${why}`, () => {
  it('B8: what a dead process had comes back, with the attempts counted that it died under', async () => {
    const channel = uniqueName('orders')
    const dead = world.stoppedProcess({ leaseMs: 300 })
    const there = await world.subscribe(dead, channel, { prefetch: 2 })
    const events = make.events(2, { channel })
    await dead.publish(events)
    const [first] = await there.take(2)
    await there.subscription.begin(first!, [])
    const here = await world.subscribe(world.process({ leaseMs: 300, maxPollMs: 50 }), channel)
    const back = await here.take(2)
    expect(back.map(each => [idOf(each), each.started, each.ended])).toEqual([
      [events[0]!.id, 1, 0],
      [events[1]!.id, 0, 0],
    ])
    await expect(there.subscription.settle(first!, DONE)).rejects.toMatchObject({
      code: 'LAZARET_DELIVERY_LOST',
    })
    await here.done(...back)
  })

  it('B8: whoever was taken for dead goes on with new deliveries', async () => {
    const channel = uniqueName('orders')
    const slow = world.process({ leaseMs: 600_000, maxPollMs: 50 })
    const inbox = await world.subscribe(slow, channel, { prefetch: 1 })
    await slow.publish(make.events(1, { channel }))
    const lost = await inbox.next()
    await database!.pool.query(`update lazaret.outbox_owners set lease_until = '-infinity'`)
    await database!.pool.query('select lazaret.outbox_reclaim()')
    await expect(inbox.subscription.begin(lost, [])).rejects.toMatchObject({ code: 'LAZARET_DELIVERY_LOST' })
    await inbox.done(await inbox.next())
  })

  it('B8: an attempt that is over does not count when its process dies later', async () => {
    const channel = uniqueName('orders')
    const dead = world.process({ leaseMs: 600_000, maxPollMs: 50 })
    const there = await world.subscribe(dead, channel, { prefetch: 1 })
    await dead.publish(make.events(1, { channel }))
    const delivery = await there.next()
    await there.subscription.begin(delivery, [])
    const ended = [make.attempt(1)]
    await there.subscription.settle(delivery, { outcome: 'retry', notBefore: 0, ended })
    await there.next()
    await database!.pool.query(`update lazaret.outbox_owners set lease_until = '-infinity'`)
    await database!.pool.query('select lazaret.outbox_reclaim()')
    there.subscription.pause()
    const rows = await database!.rows('select attempts from lazaret.outbox where channel = $1', [channel])
    expect(rows).toEqual([{ attempts: 1 }])
  })

  it('E21: when every connection breaks, nothing is lost and consumers go on', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process({ maxPollMs: 50, leaseMs: 600 })
    const inbox = await world.subscribe(outbox, channel, { prefetch: 1 })
    const events = make.events(2, { channel })
    await outbox.publish(events)
    const done = new Set<string>()
    const finish = async (delivery: Delivery) => {
      try {
        await inbox.subscription.settle(delivery, DONE)
        done.add(idOf(delivery))
      } catch {
        // It comes again.
      }
    }
    const first = await inbox.next()
    await database!.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    )
    await finish(first)
    while (done.size < events.length) await finish(await inbox.next())
    await patience.eventually(async () => {
      const listening = `select 1 from pg_stat_activity
        where datname = current_database() and query like 'listen %' and pid <> pg_backend_pid()`
      return (await database!.rows(listening)).length > 0
    }, 'somebody listens again')
  })

  it('K8: a replay that is sent again while it is on its way changes nothing', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const [event] = make.events(1, { channel })
    const replayOf = (attempt: string) => ({
      ...event!,
      headers: { [REPLAY_HEADERS.replayId]: 'replay-1', [REPLAY_HEADERS.replayAttempt]: attempt },
    })
    await outbox.publish([replayOf('1')])
    await outbox.publish([replayOf('1')])
    const delivery = await inbox.next()
    await inbox.assertEmpty('it came twice')
    await outbox.publish([replayOf('2')])
    await inbox.done(delivery, await inbox.next())
    await outbox.publish([replayOf('1')])
    await inbox.done(await inbox.next())
  })
})
