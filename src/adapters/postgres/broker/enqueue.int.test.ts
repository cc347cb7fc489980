import { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { make, postgresWorld, settleAsDead, timing } from '../../../../test/support/outbox-world.ts'
import { REPLAY_HEADERS, replayHeaders } from '../../../core/event/replay-headers.ts'
import { systemClock } from '../../../ports/clock.ts'
import { createSealing } from '../../../runtime/sealing/sealing.ts'
import { eventOf, idOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'

const { found, database, world, why } = await postgresWorld()

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

  it('S1: many at once keep all they have, whatever their texts have in them', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const inputs = [
      { channel, type: 'order.placed', payload: '' },
      { channel, type: 'order.paid', key: 'a', payload: { text: '"{},\\\n\u001e\u001d' } },
      { channel, type: 'order.paid', idempotencyKey: 'charge-1', payload: null, headers: { from: 'x"\\' } },
      { channel, type: 'order.paid', source: 'shop', payload: new Uint8Array([0, 30, 29, 255]) },
      { channel, type: 'order.paid', payload: [1, 'é', '\u{1f600}'], expiresAt: systemClock.now() + 60_000 },
    ]
    const events = await outbox.enqueue(database!.pool, inputs)
    const deliveries = await inbox.take(5)
    expect(deliveries.map(eventOf)).toEqual(events)
    await inbox.done(...deliveries)
  })

  it('S1: without a transaction it says what is missing', async () => {
    const event = { channel: 'orders', type: 'order.placed' }
    await expect(world.process().enqueue(event as never, event)).rejects.toThrow(
      'the client that your transaction',
    )
  })

  it('S1: an event keeps an id that is not a UUID', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
    const event = make.event({ id: 'order-17', channel, key: 'a' })
    await outbox.publish([event])
    const delivery = await inbox.next()
    expect(delivery.content).toEqual(event)
    await settleAsDead(inbox, delivery)
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
    await settleAsDead(inbox, delivery)
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

  it.each(['plain', 'sealed'])(
    'S5: a replay from psql is not taken for the one before it (%s)',
    async kind => {
      const channel = uniqueName('orders')
      const codec = createSealing({ current: 'k1', keys: { k1: new Uint8Array(32) } })
      const outbox = world.process(kind === 'sealed' ? { codec } : {})
      const inbox = await world.subscribe(outbox, channel)
      const first = make.event({ channel, headers: { 'x-trace': 'kept' } })
      const event = { ...first, headers: replayHeaders(first, { replayId: 'replay-1' }) }
      await outbox.publish([event])
      await settleAsDead(inbox, await inbox.next())
      await database!.pool.query(`select lazaret.outbox_replay($1, 0, 'ada')`, [event.id])
      const again = eventOf(await inbox.next())
      expect(again.headers).toMatchObject({ 'x-trace': 'kept', [REPLAY_HEADERS.replayed]: 'true' })
      expect(again.headers[REPLAY_HEADERS.replayId]).toMatch(/^sql-/)
    },
  )

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

  it('S9: many enqueues within 10 ms are two notifications: the first, and one for all others', async () => {
    const channel = uniqueName('orders')
    const clock = new FakeClock()
    const listener = await database!.pool.connect()
    const told: (string | undefined)[] = []
    const isTold = new Map<string, () => void>()
    listener.on('notification', ({ payload }) => {
      told.push(payload)
      isTold.get(payload ?? '')?.()
    })
    await listener.query('listen lazaret_outbox')
    const count = () => told.filter(payload => payload === channel).length
    /** Notifications arrive in the order of their commits, so this one is the last of those before it. */
    const countBy = async (mark: string) => {
      const arrived = new Promise<void>(resolve => isTold.set(mark, resolve))
      await database!.pool.query(`select pg_notify('lazaret_outbox', $1)`, [mark])
      await arrived
      return count()
    }
    try {
      const outbox = world.process({ clock })
      for (let enqueue = 0; enqueue < 30; enqueue++) await outbox.publish([make.event({ channel })])
      expect(await countBy(uniqueName('mark'))).toBe(1)
      await clock.advance(10)
      await timing.eventually(() => count() === 2, 'the others are notified together')
      await clock.advance(1_000)
      expect(await countBy(uniqueName('mark'))).toBe(2)
    } finally {
      listener.release(true)
    }
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
    await settleAsDead(bill, await bill.next())
    await ship.done(await ship.next())
    const rows = await world.rows(event!.id)
    expect(rows.map(({ target, status, attempts }) => [target, status, attempts]).sort()).toEqual([
      ['bill', 'failed', 1],
      ['ship', 'delivered', 0],
    ])
    await outbox.publish([{ ...event!, headers: replayHeaders(event!, { handler: 'bill' }) }])
    await bill.done(await bill.next())
    await ship.assertEmpty('a replay for another handler came here')
  })

  it.each(['new', 'failed here'])(
    'K8: a replay for a handler that is not there is for nobody else, and waits for it (%s)',
    async kind => {
      const channel = uniqueName('orders')
      const outbox = world.process({ maxPollMs: 50 })
      const [bill, ship] = [await world.subscribe(outbox, channel), 'ship']
      const [event] = make.events(1, { channel, key: 'a' })
      if (kind === 'failed here') {
        const inbox = await world.subscribe(outbox, channel, { handler: ship, ordering: 'by-key' })
        await outbox.publish([event!])
        await settleAsDead(inbox, await inbox.next())
        await bill.done(await bill.next())
        await inbox.subscription.close()
        await database!.pool.query('delete from lazaret.outbox_handlers where handler = $1', [ship])
      }
      const headers = replayHeaders(event!, { replayId: 'replay-1', handler: ship })
      await outbox.publish([{ ...event!, headers }])
      await bill.assertEmpty('a replay for another handler came here')
      const later = await world.subscribe(outbox, channel, { handler: ship, ordering: 'by-key' })
      await outbox.publish(make.events(1, { channel, key: 'a' }))
      expect(idOf(await later.next())).toBe(event!.id)
      await later.assertEmpty('a later event of the key ran beside it')
      expect((await world.rows(event!.id)).filter(({ target }) => target === ship)).toHaveLength(1)
    },
  )

  it('a generation is left to consumers that have it', async () => {
    const channel = uniqueName('orders')
    const [old, young] = [world.process({ maxPollMs: 50 }), world.process({ generation: 2, maxPollMs: 50 })]
    const inbox = await world.subscribe(old, channel)
    await old.enqueue(database!.pool, { channel, type: 'order.placed' }, { generation: 2 })
    await inbox.assertEmpty('a consumer got what is for a later generation')
    const later = await world.subscribe(young, channel)
    await later.done(await later.next())
  })

  it.each([1.5, -1, '2' as never])(
    'a generation of %s is refused, and the transaction can go on',
    async generation => {
      const channel = uniqueName('orders')
      const tx = await database!.pool.connect()
      await tx.query('begin')
      const refused = world.process().enqueue(tx, { channel, type: 'order.placed' }, { generation })
      await expect(refused).rejects.toThrow(/enqueue\.generation/)
      await tx.query('select 1')
      await tx.query('commit')
      tx.release()
    },
  )

  it.each(['the same replay', 'somebody with psql'])(
    'K8: a replay that is sent at the same moment by %s as well comes once',
    async other => {
      const channel = uniqueName('orders')
      const outbox = world.process()
      const inbox = await world.subscribe(outbox, channel)
      const [event] = make.events(1, { channel })
      await outbox.publish([event!])
      await settleAsDead(inbox, await inbox.next())
      inbox.subscription.pause()
      const replay = {
        ...event!,
        headers: replayHeaders(event!, { replayId: 'replay-1' }),
      }
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      const untilWaiting = (count: number) =>
        timing.eventually(
          async () => (await database!.rows(waiting)).length === count,
          `${count} of them wait`,
        )
      // Both have begun before either can go on.
      const holder = await database!.pool.connect()
      await holder.query('begin')
      await holder.query('select from lazaret.outbox where event_id = $1 for update', [event!.id])
      const first =
        other === 'the same replay'
          ? outbox.publish([replay])
          : database!.pool.query(`select lazaret.outbox_replay($1, null, 'ada')`, [event!.id])
      await untilWaiting(1)
      const second = outbox.publish([replay])
      await untilWaiting(2)
      await holder.query('commit')
      holder.release()
      await Promise.all([first, second])
      const rows = await world.rows(event!.id)
      expect(rows).toMatchObject([{ status: 'pending', failure_history: [{ attempts: 1 }] }])
    },
  )
})
