import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { KeptSqliteFile } from '../../../../test/support/sqlite-file.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import type { Delivery, SubscribeOptions } from '../../../ports/broker.ts'
import type { Clock } from '../../../ports/clock.ts'
import { Inbox, idOf } from '../../../testing/conformance/broker/world.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { openSqlite, type SqliteOptions, type SqliteStore } from '../index.ts'

const LEASE_MS = 30_000
const DONE = { outcome: 'done' } as const

const clock = new FakeClock()
const timing = new TestTiming({ clock, quietMs: 15 })
const file = new KeptSqliteFile(clock)
const store = openSqlite({ path: file.path, clock })
const make = createFactory({ clock })
afterAll(async () => {
  await store.close()
  await file.close()
})

async function subscribe(of: SqliteStore, channel: string, options: Partial<SubscribeOptions> = {}) {
  const inbox = new Inbox(timing)
  inbox.subscription = await of.broker.subscribe(
    { channel, handler: 'bill', prefetch: 10, ordering: 'none', ...options },
    delivery => inbox.receive(delivery),
  )
  return inbox
}

/** Another clock object means threads of its own: to the file it is another process. */
function otherProcess(time: Clock = clock, options: Partial<SqliteOptions> = {}): SqliteStore {
  const own: Clock = { now: () => time.now(), schedule: (delayMs, task) => time.schedule(delayMs, task) }
  return openSqlite({ path: file.path, clock: own, leaseMs: LEASE_MS, ...options })
}

/** A process whose clock stands still does nothing more by itself: it has hung, or it is dead. */
function stoppedProcess() {
  const time = new FakeClock(clock.now())
  return { process: otherProcess(time), time }
}

/** Lets hearts beat so many times, and every process note it: driven time must not outrun the threads. */
async function beats(count: number, ...processes: readonly SqliteStore[]): Promise<void> {
  for (let beat = 0; beat < count; beat++) {
    await clock.advance(LEASE_MS / 3)
    for (const each of [store, ...processes]) await each.broker.unblockKey('nobody', 'nothing')
  }
}

/** What is due by now, without letting time pass. */
async function dueNow(of: SqliteStore, inbox: Inbox): Promise<Delivery> {
  await of.broker.unblockKey('nobody', 'nothing')
  expect(inbox.waiting).toBe(1)
  return inbox.next()
}

function letterOf({ content }: Delivery, channel: string) {
  return make.letter({ event: content as never, channel })
}

describe('sqlite broker', () => {
  it('E10, B14: a letter that only the broker keeps is resolved when its replay is handled, and by nothing else', async () => {
    const channel = uniqueName('orders')
    const inbox = await subscribe(store, channel)
    const event = make.event({ channel })
    await store.broker.publish([event])
    const delivery = await inbox.next()
    const letter = letterOf(delivery, channel)
    await inbox.subscription.settle(delivery, { outcome: 'dead', letter, saved: false })
    expect((await store.deadLetters.get(letter.id))?.state).toBe('dead')
    await store.deadLetters.change(letter.id, { to: 'replaying', at: clock.now(), replayId: 'replay-1' })
    const stateAfter = async (again: LazaretEvent) => {
      await store.broker.publish([again])
      await inbox.done(await inbox.next())
      return (await store.deadLetters.get(letter.id))?.state
    }
    expect(await stateAfter(event)).toBe('replaying')
    const forged = replayHeaders(event, { letterId: letter.id, replayId: 'replay-2', handler: 'bill' })
    expect(await stateAfter({ ...event, headers: forged })).toBe('replaying')
    const headers = replayHeaders(event, { letterId: letter.id, replayId: 'replay-1', handler: 'bill' })
    expect(await stateAfter({ ...event, headers })).toBe('resolved')
    await inbox.subscription.close()
  })

  it.each(['resolved', 'dead'])(
    'B13: a letter that only the broker keeps, whose event was sent to another channel, is %s there',
    async end => {
      const [channel, other] = [uniqueName('orders'), uniqueName('mended')]
      const inbox = await subscribe(store, channel, { ordering: 'by-key' })
      const there = await subscribe(store, other, { handler: 'ship' })
      const [event, next] = make.events(2, { channel, key: 'a' })
      await store.broker.publish([event!, next!])
      const failed = await inbox.next()
      const letter = letterOf(failed, channel)
      await inbox.subscription.settle(failed, { outcome: 'dead', letter, saved: false })
      await store.deadLetters.change(letter.id, { to: 'replaying', at: clock.now(), replayId: 'replay-1' })
      const headers = replayHeaders(event!, { letterId: letter.id, replayId: 'replay-1' })
      await store.broker.publish([{ ...event!, channel: other, headers }])
      const redirected = await there.next()
      if (end === 'resolved') await there.done(redirected)
      else {
        const again = make.letter({ event: redirected.content as never, channel: other, handler: 'ship' })
        await there.subscription.settle(redirected, { outcome: 'dead', letter: again, saved: false })
      }
      expect(await store.deadLetters.get(letter.id)).toMatchObject({ channel, state: end })
      if (end === 'dead') await inbox.assertEmpty('the key went on over its dead event')
      else expect(idOf(await inbox.next())).toBe(next!.id)
      await inbox.subscription.close()
      await there.subscription.close()
    },
  )

  it.each(['discarded', 'deleted'] as const)(
    'B9: a letter that is %s lets the later events of its key go, in the same transaction',
    async how => {
      const channel = uniqueName('orders')
      const inbox = await subscribe(store, channel, { ordering: 'by-key' })
      const [dead, next] = make.events(2, { channel, key: 'a' })
      await store.broker.publish([dead!, next!])
      const delivery = await inbox.next()
      const letter = letterOf(delivery, channel)
      await store.deadLetters.send(letter)
      await inbox.subscription.settle(delivery, { outcome: 'dead', letter, saved: true })
      await inbox.assertEmpty('the key went on over its dead event')
      if (how === 'deleted') await store.deadLetters.delete(letter.id)
      else await store.deadLetters.change(letter.id, { to: 'discarded', at: clock.now() })
      expect((await inbox.next()).content).toEqual(next)
      await inbox.subscription.close()
    },
  )

  it('K8: a replay that is sent again while it is on its way changes nothing; its next attempt is another', async () => {
    const channel = uniqueName('orders')
    const inbox = await subscribe(store, channel)
    const event = make.event({ id: 'event-1', channel })
    const replayOf = (attempt: number) => ({
      ...event,
      headers: replayHeaders(event, { replayId: 'replay-1', attempt }),
    })
    await store.broker.publish([replayOf(1)])
    await store.broker.publish([replayOf(1)])
    const delivery = await inbox.next()
    await inbox.assertEmpty('it came twice')
    await store.broker.publish([replayOf(2)])
    await inbox.done(delivery, await inbox.next())
    await store.broker.publish([replayOf(1)])
    await inbox.done(await inbox.next())
    await inbox.subscription.close()
  })

  it('B9: what was published before the first handler goes to it in order', async () => {
    const channel = uniqueName('orders')
    const events = [...make.events(2, { channel, key: 'a' }), ...make.events(2, { channel, key: 'b' })]
    await store.broker.publish(events)
    expect(await store.broker.depth(channel, 'bill')).toBe(4)
    const inbox = await subscribe(store, channel, { ordering: 'by-key' })
    const [first, second] = await inbox.take(2)
    await inbox.assertEmpty('two events of a key are open')
    await inbox.done(first!, second!)
    const last = await inbox.take(2)
    expect(last.map(({ content }) => content)).toEqual([events[1], events[3]])
    await inbox.done(...last)
    expect(await store.broker.depth(channel, 'bill')).toBe(0)
    const other = await subscribe(store, channel, { handler: 'ship' })
    await other.assertEmpty('a second handler got what was before it')
    await expect(subscribe(store, channel)).rejects.toThrow("give 'by-key'")
    await Promise.all([inbox.subscription.close(), other.subscription.close()])
  })

  it('E21: a channel takes as many events as it may, and again when there is room', async () => {
    const channel = uniqueName('orders')
    const bounded = openSqlite({ path: file.path, clock, maxPerChannel: 2 })
    const inbox = await subscribe(bounded, channel)
    await expect(bounded.broker.publish(make.events(3, { channel }))).rejects.toMatchObject({
      code: 'LAZARET_BROKER_FULL',
    })
    await inbox.done(...(await inbox.take(2)))
    await bounded.broker.publish(make.events(1, { channel }))
    await inbox.done(await inbox.next())
    await bounded.close()
  })

  it('B3: two processes on one file see what the other publishes, and share the work', async () => {
    const channel = uniqueName('orders')
    const other = otherProcess()
    const here = await subscribe(store, channel, { prefetch: 1 })
    const there = await subscribe(other, channel, { prefetch: 1 })
    const events = make.events(2, { channel })
    await store.broker.publish(events)
    const deliveries = [await here.next(), await there.next()]
    expect(deliveries.map(({ content }) => content)).toEqual(events)
    await other.broker.publish(make.events(1, { channel }))
    await here.subscription.settle(deliveries[0]!, DONE)
    await here.done(await here.next())
    await there.done(deliveries[1]!)
    await here.subscription.close()
    await other.close()
  })

  it('B8: what a dead process had open comes back with its crash counted', async () => {
    const channel = uniqueName('orders')
    const here = await subscribe(store, channel)
    here.subscription.pause()
    const { process } = stoppedProcess()
    const there = await subscribe(process, channel)
    const [event] = make.events(1, { channel })
    await process.broker.publish([event!])
    await there.subscription.begin(await there.next(), [])
    here.subscription.resume()
    await beats(2)
    await here.assertEmpty('a delivery was taken before the lease was over')
    await beats(4)
    const back = await here.next()
    expect([back.content, back.started, back.ended]).toEqual([event, 1, 0])
    await here.done(back)
    await here.subscription.close()
    await process.close()
  })

  it('B8: a process that lives keeps what it has open, also when the clock is set forward', async () => {
    const channel = uniqueName('orders')
    const other = otherProcess()
    const there = await subscribe(other, channel)
    await other.broker.publish(make.events(1, { channel }))
    const delivery = await there.next()
    const watching = await subscribe(store, channel)
    await beats(3, other)
    clock.jump(10 * LEASE_MS)
    await beats(9, other)
    await watching.assertEmpty('a delivery was taken from a process that lives')
    await there.done(delivery)
    await watching.subscription.close()
    await other.close()
  })

  it('B8: a slightly late heartbeat does not end the lease, even if the clock was set forward in between', async () => {
    const channel = uniqueName('orders')
    const { process, time } = stoppedProcess()
    const there = await subscribe(process, channel)
    await process.broker.publish(make.events(1, { channel }))
    const delivery = await there.next()
    const watching = await subscribe(store, channel)
    await beats(1)
    await time.advance(LEASE_MS / 3)
    await process.broker.unblockKey('nobody', 'nothing')
    await beats(1)
    clock.jump(10 * LEASE_MS)
    await beats(1)
    await watching.assertEmpty('a delivery was taken from a process that lives')
    await there.done(delivery)
    await watching.subscription.close()
    await process.close()
  })

  it('B3: a retry comes when it is due, though the wall clock is set back meanwhile', async () => {
    const channel = uniqueName('orders')
    const inbox = await subscribe(store, channel)
    await store.broker.publish(make.events(2, { channel }))
    for (const waitMs of [5_000, 3_600_000]) {
      const notBefore = clock.now() + waitMs
      await inbox.subscription.settle(await inbox.next(), { outcome: 'retry', notBefore, ended: [] })
    }
    clock.jump(-10 * 60_000)
    await clock.advance(4_900)
    await inbox.assertEmpty('a retry came before its time')
    await clock.advance(200)
    await inbox.done(await dueNow(store, inbox))
    await clock.advance(3_600_000 - 5_200)
    await inbox.assertEmpty('a retry came before its time')
    await clock.advance(200)
    await inbox.done(await dueNow(store, inbox))
    await inbox.subscription.close()
  })

  it.each([
    ['back', -10 * 60_000],
    ['forward', 10 * 60_000],
  ])('B3: a retry comes when it is due, though the wall clock is set %s shortly before', async (_, byMs) => {
    const channel = uniqueName('orders')
    const inbox = await subscribe(store, channel)
    await store.broker.publish(make.events(1, { channel }))
    const notBefore = clock.now() + 5_000
    await inbox.subscription.settle(await inbox.next(), { outcome: 'retry', notBefore, ended: [] })
    await clock.advance(4_000)
    clock.jump(byMs)
    await clock.advance(900)
    await inbox.assertEmpty('a retry came before its time')
    await clock.advance(200)
    await inbox.done(await dueNow(store, inbox))
    await inbox.subscription.close()
  })

  it('B3: a retry waits no longer than it was to, though the clock was set back before a restart', async () => {
    const channel = uniqueName('orders')
    const before = otherProcess()
    const inbox = await subscribe(before, channel)
    await before.broker.publish(make.events(1, { channel }))
    const notBefore = clock.now() + 5_000
    await inbox.subscription.settle(await inbox.next(), { outcome: 'retry', notBefore, ended: [] })
    await before.close()
    clock.jump(-10 * 60_000)
    const after = otherProcess()
    const again = await subscribe(after, channel)
    await clock.advance(4_900)
    await again.assertEmpty('a retry came before its time')
    await clock.advance(200)
    await again.done(await dueNow(after, again))
    await after.close()
  })

  it('S8: a claim whose process died is free when its lease is over, though the clock was set back', async () => {
    const key = uniqueName('key')
    expect(await store.ledger.claim('bill', key, 60_000)).toMatchObject({ kind: 'claimed' })
    clock.jump(-10 * 60_000)
    const busy = await store.ledger.claim('bill', key, 1_000)
    expect(busy).toEqual({ kind: 'busy', until: clock.now() + 60_000 })
    await clock.advance(59_000)
    expect(await store.ledger.claim('bill', key, 1_000)).toMatchObject({ kind: 'busy' })
    await clock.advance(1_001)
    expect(await store.ledger.claim('bill', key, 1_000)).toMatchObject({ kind: 'claimed' })
  })

  it('E21: a delivery whose start could not be written down comes again', async () => {
    const channel = uniqueName('orders')
    const impatient = otherProcess(clock, { busyTimeoutMs: 100 })
    const inbox = await subscribe(impatient, channel)
    const [event] = make.events(1, { channel })
    await impatient.broker.publish([event!])
    const delivery = await inbox.next()
    const inTheWay = new DatabaseSync(file.path)
    inTheWay.exec('begin immediate')
    await expect(inbox.subscription.begin(delivery, [])).rejects.toMatchObject({
      code: expect.stringMatching('LAZARET_STORE'),
    })
    inTheWay.exec('rollback')
    inTheWay.close()
    await beats(2, impatient)
    const again = await inbox.next()
    expect([again.content, again.started]).toEqual([event, 0])
    await inbox.done(again)
    await inbox.subscription.close()
    await impatient.close()
  })

  it('B8: a consumer that was considered dead finds out when settling, and continues with new deliveries', async () => {
    const channel = uniqueName('orders')
    const { process, time } = stoppedProcess()
    const there = await subscribe(process, channel, { prefetch: 1 })
    await process.broker.publish(make.events(1, { channel }))
    const lost = await there.next()
    const watching = await subscribe(store, channel)
    await beats(6)
    await watching.done(await watching.next())
    await watching.subscription.close()
    await expect(there.subscription.settle(lost, DONE)).rejects.toMatchObject({
      code: 'LAZARET_DELIVERY_LOST',
    })
    const [next] = make.events(1, { channel })
    await process.broker.publish([next!])
    await time.advance(LEASE_MS)
    await process.broker.unblockKey('nobody', 'nothing')
    const delivery = await there.next()
    expect(delivery.content).toEqual(next)
    await there.done(delivery)
    await process.close()
  })
})
