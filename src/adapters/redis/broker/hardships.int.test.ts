import { createClient } from 'redis'
import { describe, expect, it } from 'vitest'
import { ChaosProxy } from '../../../../test/chaos/proxy.ts'
import { resolveConnection } from '../../../../test/support/redis-connection.ts'
import { redisStreamsWorld } from '../../../../test/support/redis-streams-world.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import { DeliveryLostError } from '../../../ports/broker.ts'
import { createConsumer } from '../../../runtime/consumer/consumer.ts'
import { counts, idOf, idsOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { memoryDeadLetters } from '../../memory/index.ts'
import { RedisConnection } from '../connection/connection.ts'
import { listOf, textOf } from '../connection/replies.ts'
import { run } from '../connection/script.ts'
import { RedisError } from '../errors.ts'
import { handlerKeys } from './keys.ts'
import { RECLAIM } from './scripts/membership.ts'

const { isOurs, why, node, url, timing, make, open, subscribe } = await redisStreamsWorld()
const LEASE_MS = 1_200

describe.runIf(isOurs)(`Redis Streams in hard times${why}`, () => {
  it('E21: the server is killed again and again while events flow: what it has taken is handled', async () => {
    const channel = uniqueName('killed')
    const handled = new Set<string>()
    const consumer = createConsumer({
      broker: open({ reconnectMaxMs: 200 }),
      channel,
      deadLetters: memoryDeadLetters(),
      breaker: 'off',
      inProcessWaitMs: 0,
      retry: { attempts: 5, backoff: fixed({ delayMs: 50 }) },
      handle: ({ id, payload }, { attempt }) => {
        if ((payload as { n: number }).n % 5 === 0 && attempt === 1) throw new Error('the first time fails')
        handled.add(id)
      },
    })
    await consumer.start()
    const publisher = open({ reconnectMaxMs: 200 })
    const taken: string[] = []
    const publishing = (async () => {
      for (let batch = 0; batch < 40; batch++) {
        const events = make.events(25, { channel }).map((event, n) => ({ ...event, payload: { n } }))
        const isTaken = await publisher.publish(events).then(
          () => true,
          () => false,
        )
        if (isTaken) taken.push(...idsOfEvents(events))
        await timing.pass(10)
      }
    })()
    for (let kill = 0; kill < 3; kill++) {
      const before = handled.size
      await timing.eventually(() => handled.size > before + 50, 'some are handled')
      await node.kill()
      await node.start()
    }
    await publishing
    await timing.eventually(() => taken.every(id => handled.has(id)), 'all that was taken is handled')
    await consumer.close()
    expect(taken.length).toBeGreaterThan(500)
  })

  it('B8: the server stands still for longer than every lease: nobody is taken for dead, and settlements go through', async () => {
    const channel = uniqueName('frozen')
    const inboxes = [
      await subscribe(open({ leaseMs: LEASE_MS }), channel, { prefetch: 2 }),
      await subscribe(open({ leaseMs: LEASE_MS }), channel, { prefetch: 2 }),
    ]
    await open().publish(make.events(4, { channel }))
    const deliveries = await Promise.all(inboxes.map(inbox => inbox.take(2)))
    await timing.pass(LEASE_MS * 2)
    node.freeze()
    await timing.pass(LEASE_MS * 3)
    node.thaw()
    for (const [index, inbox] of inboxes.entries())
      for (const delivery of deliveries[index]!) {
        await inbox.subscription.begin(delivery, [])
        await inbox.done(delivery)
      }
    await timing.eventually(async () => (await open().depth(channel, 'bill')) === 0, 'all are done')
    for (const inbox of inboxes) await inbox.assertEmpty('something came again')
  })

  it('B8: a silent consumer counts as dead: others get its entries, with its attempts counted; when it is back, it continues', async () => {
    const channel = uniqueName('unheard')
    const proxy = await ChaosProxy.to(url)
    const deaf = await subscribe(
      open({ url: proxy.through(url), leaseMs: LEASE_MS, reconnectMaxMs: 100 }),
      channel,
      { prefetch: 2 },
    )
    const publisher = open()
    const [begun, open2] = make.events(2, { channel })
    await publisher.publish([begun!, open2!])
    const [first, second] = await deaf.take(2)
    await deaf.subscription.begin(first!, [])
    proxy.isDown = true
    proxy.cut()
    const other = await subscribe(open({ leaseMs: LEASE_MS }), channel)
    const again = await other.take(2)
    expect(new Map(again.map(delivery => [idOf(delivery), counts(delivery)]))).toEqual(
      new Map([
        [begun!.id, [1, 0, []]],
        [open2!.id, [0, 0, []]],
      ]),
    )
    await other.done(...again)
    await other.subscription.close()
    proxy.isDown = false
    await expect(deaf.subscription.begin(second!, [])).rejects.toThrow(DeliveryLostError)
    const [next] = make.events(1, { channel })
    await publisher.publish([next!])
    const delivery = await deaf.next()
    expect(idOf(delivery)).toBe(next!.id)
    await deaf.subscription.begin(delivery, [])
    await deaf.done(delivery)
    await timing.eventually(async () => (await publisher.depth(channel, 'bill')) === 0, 'all are done')
    await proxy.close()
  })

  it('E21: connections are cut while events flow: entries that were read and never arrived are found again', async () => {
    const channel = uniqueName('cut')
    const proxy = await ChaosProxy.to(url)
    const inbox = await subscribe(open({ url: proxy.through(url), reconnectMaxMs: 50 }), channel, {
      prefetch: 50,
    })
    const events = make.events(300, { channel })
    const publisher = open()
    const publishing = (async () => {
      for (let at = 0; at < events.length; at += 10) {
        await publisher.publish(events.slice(at, at + 10))
        await timing.pass(5)
        if (at % 50 === 0) proxy.cut()
      }
    })()
    const done = new Set<string>()
    while (done.size < events.length) {
      const delivery = await inbox.next()
      await inbox.subscription.begin(delivery, [])
      await inbox.done(delivery)
      done.add(idOf(delivery))
    }
    await publishing
    expect(done).toEqual(new Set(idsOfEvents(events)))
    await timing.eventually(async () => (await publisher.depth(channel, 'bill')) === 0, 'all are done')
    await proxy.close()
  })

  it('E21: filled to maxmemory, it refuses what is published and says why; what is there is handled, put back and given back', async () => {
    const channel = uniqueName('full')
    const broker = open()
    const inbox = await subscribe(broker, channel, { prefetch: 3 })
    const events = make.events(200, { channel, payload: 'x'.repeat(10_000) })
    const used = Number(/used_memory:(\d+)/.exec(String(await node.command('INFO', 'memory')))?.[1])
    await node.command('CONFIG', 'SET', 'maxmemory', String(used + 1_000_000))
    const published: string[] = []
    const refusal = await (async () => {
      for (const event of events) {
        await broker.publish([event])
        published.push(event.id)
      }
    })().catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(RedisError)
    expect(refusal).toMatchObject({ reply: 'OOM', message: expect.stringContaining('raise maxmemory') })
    expect(published.length).toBeGreaterThan(20)
    const [first, second, third] = await inbox.take(3)
    await inbox.subscription.begin(first!, [])
    await inbox.subscription.begin(first!, [make.attempt(1)])
    const notBefore = timing.now() + 300
    await inbox.subscription.settle(first!, { outcome: 'retry', notBefore, ended: [make.attempt(2)] })
    await inbox.subscription.settle(second!, { outcome: 'release', notBefore: 0 })
    await inbox.subscription.begin(third!, [])
    await inbox.subscription.close()
    const next = await subscribe(open({ leaseMs: LEASE_MS }), channel, { prefetch: 1 })
    const done = new Map<string, unknown>()
    while (done.size < published.length) {
      const delivery = await next.next()
      await next.subscription.begin(delivery, [])
      await next.done(delivery)
      done.set(idOf(delivery), counts(delivery).slice(0, 2))
    }
    expect([...done.keys()].sort()).toEqual(published.sort())
    expect([first, second, third].map(each => done.get(idOf(each!)))).toEqual([
      [2, 2],
      [0, 0],
      [1, 0],
    ])
    await timing.eventually(
      () =>
        broker.publish(events.slice(-1)).then(
          () => true,
          () => false,
        ),
      'there is room again',
    )
    await node.command('CONFIG', 'SET', 'maxmemory', '0')
  })

  it('E21: a primary becomes a replica and a primary again: settlements wait, and go through', async () => {
    const channel = uniqueName('replica')
    const inbox = await subscribe(open(), channel)
    const events = make.events(3, { channel })
    await open().publish(events)
    const [first, second, third] = await inbox.take(3)
    await node.command('REPLICAOF', '127.0.0.1', '1')
    await inbox.done(first!)
    const retrying = inbox.subscription.settle(second!, { outcome: 'retry', notBefore: 0, ended: [] })
    const beginning = inbox.subscription.begin(third!, [])
    const refused = await open()
      .publish(make.events(1, { channel }))
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ reply: 'READONLY' })
    await node.command('REPLICAOF', 'NO', 'ONE')
    await retrying
    await beginning
    await inbox.done(third!, await inbox.next())
    await timing.eventually(async () => (await open().depth(channel, 'bill')) === 0, 'all are done')
    await inbox.assertEmpty('something came again')
  })

  it('E21: scripts are flushed and the group is destroyed: it is created again, and all entries are delivered, some of them twice', async () => {
    const channel = uniqueName('destroyed')
    const broker = open()
    const inbox = await subscribe(broker, channel)
    const [before, after] = make.events(2, { channel })
    await broker.publish([before!])
    await inbox.next()
    await node.command('SCRIPT', 'FLUSH')
    await node.command('XGROUP', 'DESTROY', `{lazaret:${channel}}:events`, 'bill')
    await broker.publish([after!])
    expect(idsOf(await inbox.take(2))).toEqual([before!.id, after!.id])
  })

  it('E21: the stream is deleted under its consumers: the next published events are delivered', async () => {
    const channel = uniqueName('deleted')
    const broker = open()
    const inbox = await subscribe(broker, channel)
    await broker.publish(make.events(1, { channel }))
    const deleted = await inbox.next()
    await node.command('DEL', `{lazaret:${channel}}:events`)
    const [next] = make.events(1, { channel })
    await broker.publish([next!])
    expect(idOf(await inbox.next())).toBe(next!.id)
    await expect(
      (async () => inbox.subscription.settle(deleted, { outcome: 'retry', notBefore: 0, ended: [] }))(),
    ).rejects.toThrow(DeliveryLostError)
  })

  it('B3: an entry that somebody deletes while it is open is put back whole', async () => {
    const channel = uniqueName('trimmed')
    const broker = open()
    const inbox = await subscribe(broker, channel)
    const [event] = make.events(1, { channel })
    await broker.publish([event!])
    const delivery = await inbox.next()
    await node.command('XTRIM', `{lazaret:${channel}}:events`, 'MAXLEN', '0')
    await inbox.subscription.settle(delivery, { outcome: 'retry', notBefore: 0, ended: [] })
    expect((await inbox.next()).content).toEqual(event)
  })

  it('B3: so is one whose consumer has lost its connection since', async () => {
    const channel = uniqueName('trimmed')
    const proxy = await ChaosProxy.to(url)
    const broker = open({ url: proxy.through(url), reconnectMaxMs: 50 })
    const inbox = await subscribe(broker, channel)
    const [event, other] = make.events(2, { channel })
    await open().publish([event!])
    const delivery = await inbox.next()
    await node.command('XTRIM', `{lazaret:${channel}}:events`, 'MAXLEN', '0')
    proxy.cut()
    await open().publish([other!])
    expect(idOf(await inbox.next())).toBe(other!.id)
    await inbox.subscription.settle(delivery, { outcome: 'retry', notBefore: 0, ended: [] })
    expect((await inbox.next()).content).toEqual(event)
    await broker.close()
    await proxy.close()
  })

  it('E21: a read that the server still answers after its connection is gone: what it took is found again', async () => {
    const channel = uniqueName('forgotten')
    const proxy = await ChaosProxy.to(url)
    const far = { url: proxy.through(url), leaseMs: LEASE_MS, maxPollMs: 2_000, reconnectMaxMs: 50 }
    const broker = open(far)
    const inbox = await subscribe(broker, channel)
    const publisher = open()
    const [event] = make.events(1, { channel })
    const reading = async () =>
      Number(/blocked_clients:(\d+)/.exec(String(await node.command('INFO', 'clients')))?.[1])
    await timing.eventually(async () => (await reading()) === 1, 'it waits for events')
    proxy.cutNear()
    await timing.eventually(async () => (await reading()) === 2, 'it waits on a new connection as well')
    await publisher.publish([event!])
    const delivery = await inbox.next()
    expect([idOf(delivery), counts(delivery)]).toEqual([event!.id, [0, 0, []]])
    await inbox.done(delivery)
    await timing.eventually(async () => (await publisher.depth(channel, 'bill')) === 0, 'it is done')
    await broker.close()
    await proxy.close()
  })

  it("E21: the duplicate of the caller's client cannot connect at first: it is tried again, and events are delivered", async () => {
    const channel = uniqueName('refused')
    const client = createClient({ url })
    await client.connect()
    const duplicate = client.duplicate.bind(client)
    let tries = 0
    client.duplicate = (...overrides) => {
      const copy = duplicate(...overrides)
      const connect = copy.connect.bind(copy)
      copy.connect = async () => {
        if (++tries === 1) throw new Error('max number of clients reached')
        return connect()
      }
      return copy
    }
    const reported: unknown[] = []
    const broker = open({ url: undefined, client, onError: error => reported.push(error) })
    const inbox = await subscribe(broker, channel)
    const [event] = make.events(1, { channel })
    await broker.publish([event!])
    expect(idOf(await inbox.next())).toBe(event!.id)
    expect(reported).toMatchObject([{ message: 'max number of clients reached' }])
    await broker.close()
    client.destroy()
  })

  it('B8: a consumer that some events were taken from already does not come to life before the rest is', async () => {
    const channel = uniqueName('halfway')
    const inbox = await subscribe(open(), channel)
    await open().publish(make.events(3, { channel }))
    const [first] = await inbox.take(3)
    const { events, own, waiting, notes, leases, running } = handlerKeys('lazaret', channel, 'bill')
    const [name] = listOf(await node.command('ZRANGE', leases, '0', '-1')).map(textOf)
    const steady = String(timing.now() + 60_000)
    await node.command('ZADD', leases, '1', name!, steady, 'other')
    const connection = RedisConnection.of(resolveConnection('test', { url }), 'test')
    const keys = [events, own, waiting, notes, leases, running] as const
    expect(await run(connection, RECLAIM, keys, ['bill', 'other', '1', '60000', '1'])).toBe(1)
    await expect(inbox.subscription.begin(first!, [])).rejects.toThrow(DeliveryLostError)
    while ((await run(connection, RECLAIM, keys, ['bill', 'other', '1', '60000', '1'])) > 0);
    const done = new Set<string>()
    while (done.size < 3) {
      const delivery = await inbox.next()
      // One that came while it was taken for dead is not its own either, and comes again.
      await inbox.done(delivery).then(
        () => done.add(idOf(delivery)),
        () => {},
      )
    }
    await connection.close()
  })
})

function idsOfEvents(events: readonly { readonly id: string }[]): string[] {
  return events.map(({ id }) => id)
}
