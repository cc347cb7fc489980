import { describe, expect, it } from 'vitest'
import { rabbitmqWorld } from '../../../test/support/rabbitmq-world.ts'
import { replayHeaders } from '../../core/event/replay-headers.ts'
import { systemClock, yieldToEventLoop } from '../../ports/clock.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import type { RabbitmqDelivery } from './broker/consume/delivery.ts'
import { onChannel } from './broker/topology/declare.ts'
import { type ConnectionNews, rabbitmq } from './index.ts'

const { found, server, outside, url, why, timing, make, subscribe } = await rabbitmqWorld()

describe.runIf(found.found)(`RabbitMQ broker${why}`, () => {
  it('E21: what no queue takes is refused, not dropped', async () => {
    const channel = uniqueName('orders')
    const broker = rabbitmq({ url, declare: 'none', route: () => ({ exchange: '', routingKey: channel }) })
    await expect(broker.publish([make.event({ channel })])).rejects.toMatchObject({
      code: 'LAZARET_BROKER_UNROUTABLE',
      message: `queue '${channel}': no queue takes it, so nothing was kept; declare the queue, or fix its binding`,
    })
    await broker.close()
  })

  it('K8: a replay goes to the queue of the handler that failed, and to no other', async () => {
    const channel = uniqueName('orders')
    const broker = rabbitmq({ url })
    const [bill, ship] = [await subscribe(broker, channel, 'bill'), await subscribe(broker, channel, 'ship')]
    const event = make.event({ channel })
    const replay = { ...event, headers: replayHeaders(event, { handler: 'bill' }) }
    await broker.publish([replay])
    expect((await bill.next()).content).toEqual(replay)
    await ship.assertEmpty('a replay went to another handler')
    await broker.close()
  })

  it('P2: a message of another program keeps its way back through its retries', async () => {
    const channel = uniqueName('orders')
    const broker = rabbitmq({ url })
    const inbox = await subscribe(broker, channel)
    await outside!.publish(channel, 'order.paid', Buffer.from('{"a":1}'), { contentType: 'application/json' })
    const first = await inbox.next()
    const notBefore = systemClock.now() + 120
    await inbox.subscription.settle(first, { outcome: 'retry', notBefore, ended: [] })
    const again = await inbox.next()
    expect(again.content).toEqual(first.content)
    expect(again.origin).toEqual({
      broker: 'rabbitmq',
      queue: channel,
      exchange: channel,
      routingKey: 'order.paid',
    })
    await inbox.done(again)
    await broker.close()
  })

  it('B8: a suspect is not even taken into hand while another message runs, and runs once that has ended', async () => {
    const channel = uniqueName('orders')
    // A quorum queue counts a consumer that left for as long as it holds a message.
    const broker = rabbitmq({ url, queueType: 'classic' })
    const inbox = await subscribe(broker, channel)
    await broker.publish([make.event({ channel })])
    const running = await inbox.next()
    const headers = { 'lazaret-log': JSON.stringify({ started: 2, isSuspected: true }) }
    await outside!.publish('', `${channel}.suspects`, Buffer.from('{}'), { headers, messageId: 'suspect' })
    // It is seen within a second, and then nothing more is taken from the queue.
    await timing.eventually(async () => (await outside!.consumers(channel)) === 0, 'the queue is left')
    expect(await outside!.consumers(`${channel}.suspects`)).toBe(0)
    expect(await outside!.depth(`${channel}.suspects`)).toBe(1)
    await inbox.done(running)
    const suspect = (await inbox.next()) as RabbitmqDelivery
    expect(suspect).toMatchObject({ content: { id: 'suspect' }, started: 2 })
    // As it was published: it was not sent on in between.
    expect(suspect.message.properties.headers).toEqual(headers)
    await inbox.done(suspect)
    await timing.eventually(async () => (await outside!.consumers(channel)) === 1, 'the queue is consumed')
    await broker.close()
  })

  it('F3: a queue that is there and different is explained, and left alone with `auxiliary`', async () => {
    const channel = uniqueName('orders')
    await onChannel(outside!.connection, each => each.assertQueue(channel, { durable: true, arguments: {} }))
    const strict = rabbitmq({ url })
    await expect(subscribe(strict, channel)).rejects.toMatchObject({
      code: 'LAZARET_TOPOLOGY_MISMATCH',
      message: expect.stringContaining("keep the queue as it is with `declare: 'auxiliary'`"),
    })
    await strict.close()
    const broker = rabbitmq({ url, declare: 'auxiliary' })
    const inbox = await subscribe(broker, channel)
    await outside!.publish('', channel, Buffer.from('1'))
    await inbox.done(await inbox.next())
    await broker.close()
  })

  it('F6: the dead letters of a handler are counted, those in quarantine included', async () => {
    const channel = uniqueName('orders')
    const broker = rabbitmq({ url })
    const inbox = await subscribe(broker, channel, 'bill')
    const count = async (handler: string) =>
      (await broker.deadLetterDepths(channel, handler)).reduce((sum, { depth }) => sum + depth, 0)
    expect(await count('bill')).toBe(0)
    await broker.publish(make.events(3, { channel }))
    for (const reason of ['permanent', 'poison', 'attempts_exhausted'] as const) {
      const letter = make.letter({ channel, reason })
      await inbox.subscription.settle(await inbox.next(), { outcome: 'dead', letter, saved: false })
    }
    expect(await count('bill')).toBe(3)
    expect(await count(channel)).toBe(0)
    await broker.close()
    await expect(count('bill')).rejects.toMatchObject({ code: 'LAZARET_BROKER_CLOSED' })
  })

  it('E21: what was acknowledged right before closing does not come again', async () => {
    const channel = uniqueName('orders')
    const broker = rabbitmq({ url })
    await broker.publish(make.events(5_000, { channel }))
    const inbox = await subscribe(broker, channel, channel, 5_000)
    // The first is settled last, so that all the others are acknowledged one by one.
    const [first, ...others] = await inbox.take(5_000)
    await inbox.done(...others)
    await yieldToEventLoop()
    await inbox.done(first!)
    await broker.close()
    expect(await outside!.depth(channel)).toBe(0)
  })

  it('F3: with `none`, a queue that nobody declared is told of with the command that does', async () => {
    const channel = uniqueName('orders')
    const broker = rabbitmq({ url, declare: 'none' })
    await expect(subscribe(broker, channel)).rejects.toMatchObject({
      code: 'LAZARET_TOPOLOGY_MISMATCH',
      message: expect.stringContaining(`lazaret rabbitmq declare ${channel}`),
    })
    await broker.close()
  })

  it('F3: a queue that is deleted while it is consumed is declared again', async () => {
    const channel = uniqueName('orders')
    // A quorum queue of the same name takes the server several seconds.
    const broker = rabbitmq({ url, queueType: 'classic' })
    const inbox = await subscribe(broker, channel)
    await onChannel(outside!.connection, each =>
      (each as unknown as { deleteQueue(queue: string): Promise<unknown> }).deleteQueue(channel),
    )
    const event = make.event({ channel })
    await broker.publish([event])
    const delivery = await inbox.next()
    expect(delivery.content).toEqual(event)
    await inbox.done(delivery)
    await broker.close()
  })

  it('B7: a process without subscribers declares an exchange that is deleted again, and its events arrive', async () => {
    const channel = uniqueName('orders')
    const broker = rabbitmq({ url, queueType: 'classic' })
    // The second finds everything declared, so the third does not look again.
    for (let n = 0; n < 2; n++) await broker.publish([make.event({ channel })])
    await onChannel(outside!.connection, each =>
      (each as unknown as { deleteExchange(exchange: string): Promise<unknown> }).deleteExchange(channel),
    )
    await broker.publish([make.event({ channel })])
    expect(await outside!.depth(channel)).toBe(3)
    await broker.close()
  })
})

const node = server?.node
describe.runIf(node)(
  `RabbitMQ that is short of memory${node ? '' : ' (skipped: the server is not ours)'}`,
  () => {
    it('E21: publishing waits and is refused in time, what is there can be handled; afterwards it goes on', async () => {
      const channel = uniqueName('orders')
      const news: ConnectionNews['state'][] = []
      const broker = rabbitmq({ url, confirmTimeoutMs: 500, onConnection: ({ state }) => news.push(state) })
      const inbox = await subscribe(broker, channel)
      await broker.publish([make.event({ channel })])
      await node!.call('vm_memory_monitor:set_vm_memory_high_watermark({absolute, 1000000})')
      // The server tells its connections a moment later.
      let accepted = 1
      let refusal: unknown
      while (refusal === undefined) {
        refusal = await broker.publish([make.event({ channel })]).catch(error => error)
        if (refusal === undefined) accepted++
      }
      expect(refusal).toMatchObject({ code: 'LAZARET_BROKER_UNREACHABLE' })
      for (; accepted > 0; accepted--) await inbox.done(await inbox.next())
      await node!.call('vm_memory_monitor:set_vm_memory_high_watermark(0.6)')
      await timing.eventually(() => news.includes('unblocked'), 'the server takes more')
      await broker.publish([make.event({ channel })])
      expect(news.filter(state => state === 'blocked')).toHaveLength(1)
      await inbox.next()
      await broker.close()
    })
  },
)
