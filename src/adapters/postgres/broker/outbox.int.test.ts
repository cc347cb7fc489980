import { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { make, postgresWorld, settleAsDead, timing } from '../../../../test/support/outbox-world.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import type { Delivery } from '../../../ports/broker.ts'
import { systemClock } from '../../../ports/clock.ts'
import { eventOf, idOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { postgresDeadLetters } from '../index.ts'

const { found, database, world, why } = await postgresWorld()
const DONE = { outcome: 'done' } as const

describe.runIf(found.found)(`replaying from psql${why}`, () => {
  it('S5: the same event comes again in place, with its ended cycle in the history', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const event = make.event({ channel, idempotencyKey: 'charge-1' })
    await outbox.publish([event])
    await settleAsDead(inbox, await inbox.next())
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
    await settleAsDead(inbox, await inbox.next())
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
    await settleAsDead(inbox, await inbox.next())
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
    await settleAsDead(inbox, await inbox.next())
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

  it.each([
    ['discarded', `update lazaret.dead_letters set state = 'discarded' where channel = $1`],
    ['deleted', 'delete from lazaret.dead_letters where channel = $1'],
  ])('S1: the one letter of an event that was published twice and failed twice can be %s', async (_, how) => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const [event] = make.events(1, { channel })
    await outbox.publish([event!])
    await outbox.publish([event!])
    for (const delivery of await inbox.take(2)) await settleAsDead(inbox, delivery)
    await database!.pool.query(how, [channel])
    const failed = (await world.rows(event!.id)).map(row => [row.status, row.deleted_at !== null])
    expect(failed).toEqual([
      ['failed', true],
      ['failed', true],
    ])
  })

  it.each(['resolved', 'dead'])(
    'B13: a letter whose event was sent to another channel is %s there',
    async end => {
      const [channel, other] = [uniqueName('orders'), uniqueName('mended')]
      const outbox = world.process({ maxPollMs: 50 })
      const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
      const there = await world.subscribe(outbox, other, { handler: 'ship' })
      const [event, next] = make.events(2, { channel, key: 'a' })
      await outbox.publish([event!, next!])
      await settleAsDead(inbox, await inbox.next())
      const letters = postgresDeadLetters({ pool: database!.pool })
      const { id } = (await letters.list({ channel })).letters[0]!
      await letters.change(id, { to: 'replaying', at: systemClock.now(), replayId: 'replay-1' })
      const headers = replayHeaders(event!, { letterId: id, replayId: 'replay-1' })
      await outbox.publish([{ ...event!, channel: other, headers }])
      const delivery = await there.next()
      if (end === 'dead') await settleAsDead(there, delivery)
      else await there.done(delivery)
      expect(await letters.get(id)).toMatchObject({ channel, state: end })
      if (end === 'dead') await inbox.assertEmpty('the key went on over its dead event')
      else expect(idOf(await inbox.next())).toBe(next!.id)
    },
  )

  it('S5, B14: psql replays a letter that an earlier replay had sent to another channel', async () => {
    const [channel, other] = [uniqueName('orders'), uniqueName('mended')]
    const outbox = world.process({ maxPollMs: 50 })
    const inbox = await world.subscribe(outbox, channel)
    const there = await world.subscribe(outbox, other)
    const [event] = make.events(1, { channel })
    await outbox.publish([event!])
    await settleAsDead(inbox, await inbox.next())
    const letters = postgresDeadLetters({ pool: database!.pool })
    const { id } = (await letters.list({ channel })).letters[0]!
    await letters.change(id, { to: 'replaying', at: systemClock.now(), replayId: 'replay-1' })
    const headers = replayHeaders(event!, { letterId: id, replayId: 'replay-1' })
    await outbox.publish([{ ...event!, channel: other, headers }])
    await settleAsDead(there, await there.next())
    await database!.pool.query(`select lazaret.outbox_replay($1, null, 'ada')`, [event!.id])
    await there.done(await there.next())
    const [second] = (await letters.list({ channel: other })).letters
    expect(second).toMatchObject({ state: 'resolved' })
  })

  it('S1: a rolled-back deletion is noticed when the row is deleted again', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    await outbox.publish(make.events(1, { channel }))
    await settleAsDead(inbox, await inbox.next())
    const change = (table: string, what: string) =>
      database!.pool.query(`update lazaret.${table} set ${what} where channel = $1`, [channel])
    const states = () =>
      database!.rows('select state from lazaret.dead_letters where channel = $1', [channel])
    await change('outbox', 'deleted_at = now()')
    expect(await states()).toEqual([{ state: 'discarded' }])
    await change('outbox', 'deleted_at = null')
    await change('dead_letters', `state = 'dead'`)
    await change('outbox', 'deleted_at = now()')
    expect(await states()).toEqual([{ state: 'discarded' }])
  })

  it('S1: no claim and no settlement pays for a trigger of each row', async () => {
    const [ROW, UPDATE] = [1, 16]
    const triggers = await database!.rows(
      `select tgname from pg_trigger where tgrelid = 'lazaret.outbox'::regclass
         and tgtype & ${ROW} <> 0 and tgtype & ${UPDATE} <> 0`,
    )
    expect(triggers).toEqual([])
  })
})

describe.runIf(found.found)(`order by key${why}`, () => {
  it('B9: more keys than one look takes are all served, each in order', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inboxes = [
      await world.subscribe(outbox, channel, { ordering: 'by-key', prefetch: 40 }),
      await world.subscribe(world.process(), channel, { ordering: 'by-key', prefetch: 40 }),
    ]
    const events = Array.from({ length: 2_400 }, (_, index) =>
      make.event({ channel, key: `key-${index % 1_200}` }),
    )
    const left = Map.groupBy(events, ({ key }) => key)
    await outbox.publish(events)
    for (let done = 0; done < events.length; ) {
      await timing.eventually(() => inboxes.some(({ waiting }) => waiting > 0), 'the next delivery')
      for (const inbox of inboxes) {
        const deliveries = await inbox.take(inbox.waiting)
        for (const delivery of deliveries)
          expect(idOf(delivery)).toBe(left.get(eventOf(delivery).key)!.shift()!.id)
        await Promise.all(deliveries.map(delivery => inbox.subscription.settle(delivery, DONE)))
        done += deliveries.length
      }
    }
  })

  it('B9: a discarded event that is replayed from psql waits behind the events that have overtaken it', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
    const [dead, next] = make.events(2, { channel, key: 'a' })
    await outbox.publish([dead!, next!])
    await settleAsDead(inbox, await inbox.next())
    await outbox.unblockKey(channel, dead!.id)
    const overtaking = await inbox.next()
    await database!.pool.query(`select lazaret.outbox_replay($1, 0, 'ada')`, [dead!.id])
    await inbox.assertEmpty('two events of a key are open')
    await inbox.done(overtaking)
    expect(idOf(await inbox.next())).toBe(dead!.id)
  })

  it('B9: an event whose transaction took longer does not run beside a later one of its key', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
    const slow = await database!.pool.connect()
    await slow.query('begin')
    const first = await outbox.enqueue(slow, { channel, type: 'order.placed', key: 'a' })
    await outbox.publish(make.events(1, { channel, key: 'a' }))
    const later = await inbox.next()
    await slow.query('commit')
    slow.release()
    await inbox.assertEmpty('two events of a key are open')
    await inbox.done(later)
    expect(idOf(await inbox.next())).toBe(first.id)
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

  it('B8: a consumer that was considered dead continues with new deliveries', async () => {
    const channel = uniqueName('orders')
    const slow = world.process({ leaseMs: 600_000, maxPollMs: 50 })
    const inbox = await world.subscribe(slow, channel, { prefetch: 1 })
    await slow.publish(make.events(1, { channel }))
    const lost = await inbox.next()
    await database!.pool.query(`update lazaret.outbox_owners set lease_until = '-infinity'`)
    await database!.pool.query('select lazaret.outbox_reclaim()')
    await expect(inbox.subscription.settle(lost, DONE)).rejects.toMatchObject({
      code: 'LAZARET_DELIVERY_LOST',
    })
    const delivery = await inbox.next()
    const strays = await database!.rows(
      `select seq from lazaret.outbox o where status = 'in_flight'
       and not exists (select from lazaret.outbox_owners w where w.id = o.owner)`,
    )
    expect(strays, 'what is in flight has an owner that can be taken for dead').toEqual([])
    await inbox.done(delivery)
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
    await timing.eventually(async () => {
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
    const replayOf = (attempt: number) => ({
      ...event!,
      headers: replayHeaders(event!, { replayId: 'replay-1', attempt }),
    })
    await outbox.publish([replayOf(1)])
    await outbox.publish([replayOf(1)])
    const delivery = await inbox.next()
    await inbox.assertEmpty('it came twice')
    await outbox.publish([replayOf(2)])
    await inbox.done(delivery, await inbox.next())
    await outbox.publish([replayOf(1)])
    await inbox.done(await inbox.next())
  })
})
