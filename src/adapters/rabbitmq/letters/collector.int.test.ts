import { afterAll, describe, expect, it } from 'vitest'
import { findRabbitmq } from '../../../../test/services/rabbitmq.ts'
import { RabbitmqAdmin } from '../../../../test/support/rabbitmq.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { PermanentError } from '../../../core/failure/signals.ts'
import { systemRandom } from '../../../ports/clock.ts'
import { createConsumer } from '../../../runtime/consumer/consumer.ts'
import { createServer } from '../../../server/index.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import { memoryStore } from '../../memory/store.ts'
import { rabbitmq } from '../broker/broker.ts'
import { onChannel } from '../broker/topology/declare.ts'
import { rabbitmqCollector } from './collector.ts'

const found = await findRabbitmq()
const server = found.found ? await found.start() : undefined
const outside = server && (await RabbitmqAdmin.at(server.url))
afterAll(async () => {
  await outside?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`
const timing = new TestTiming({})
const QUORUM = { 'x-queue-type': 'quorum' }

/** A service of another kind: a topic exchange, a queue, and a plain dead-letter exchange that nobody configured for us. */
async function shop(kind: object = {}) {
  const queue = uniqueName('shop')
  const exchange = `${queue}.events`
  await onChannel(outside!.connection, async channel => {
    await channel.assertExchange(exchange, 'topic', { durable: true })
    await channel.assertExchange(`${queue}.dlx`, 'topic', { durable: true })
    await channel.assertQueue(`${queue}.dlq`, { durable: true, arguments: { ...kind } })
    await channel.bindQueue(`${queue}.dlq`, `${queue}.dlx`, '#')
    const args = { ...kind, 'x-dead-letter-exchange': `${queue}.dlx` }
    await channel.assertQueue(queue, { durable: true, arguments: args })
    await channel.bindQueue(queue, exchange, 'order.#')
  })
  return { queue, exchange, dlq: `${queue}.dlq` }
}

/** Takes all there is in the queue and rejects it, as a consumer does that is at its wits' end. */
async function rejectAll(queue: string, count: number): Promise<void> {
  await onChannel(outside!.connection, async channel => {
    let rejected = 0
    while (rejected < count) {
      const message = await channel.get(queue)
      if (!message) continue
      ;(channel as unknown as { reject(message: unknown, requeue: boolean): void }).reject(message, false)
      rejected++
    }
    await channel.checkQueue(queue)
  })
}

function collecting(queues: readonly string[], options: object = {}) {
  const store = memoryDeadLetters()
  const errors: unknown[] = []
  const open = () =>
    rabbitmqCollector({
      url: server!.url,
      queues,
      handledAfterMs: 300,
      pollIntervalMs: 100,
      onError: error => errors.push(error),
      ...options,
    })
  return { store, open, errors }
}

describe.runIf(found.found)(`a collector of RabbitMQ's dead letters${why}`, () => {
  it('F8: stops, leaves the messages that arrive meanwhile, counts them, and starts again', async () => {
    const { queue, exchange, dlq } = await shop()
    const { store, open, errors } = collecting([dlq])
    const collector = open()
    const bury = async () => {
      await outside!.publish(exchange, 'order.placed', Buffer.from('{}'), { messageId: uniqueName('m') })
      await rejectAll(queue, 1)
    }
    const collected = (count: number) =>
      timing.eventually(async () => (await store.stats()).count === count, `${count} letters`)
    collector.start(store)
    await bury()
    await collected(1)
    await collector.stop()
    await bury()
    await timing.eventually(async () => (await outside!.depth(dlq)) === 1, 'it lies in the queue')
    expect(await collector.depths()).toEqual([{ queue: dlq, depth: 1 }])
    expect((await store.stats()).count).toBe(1)
    collector.start(store)
    await collected(2)
    await collector.close()
    expect(errors).toEqual([])
  })

  it.each([
    ['classic', {}],
    ['quorum', QUORUM],
  ])(
    'F3: drains a %s queue into the store, and sends back what is replayed the way it came',
    async (_, kind) => {
      const { queue, exchange, dlq } = await shop(kind)
      const properties = { contentType: 'application/json', headers: { tries: 3 } }
      for (let order = 0; order < 20; order++)
        await outside!.publish(exchange, 'order.paid', Buffer.from(JSON.stringify({ order })), properties)
      await rejectAll(queue, 20)
      const { store, open } = collecting([dlq])
      const collector = open()
      collector.start(store)
      await timing.eventually(async () => (await store.stats()).count === 20, 'collecting')
      await timing.eventually(async () => (await outside!.depth(dlq)) === 0, 'acknowledging')
      expect(await collector.depths()).toEqual([{ queue: dlq, depth: 0 }])

      const [letter] = (await store.list({ limit: 1 })).letters
      expect(letter).toMatchObject({
        channel: queue,
        origin: { exchange, routingKey: 'order.paid', queue, collectedFrom: dlq },
        cycle: { failure: { code: 'rejected' } },
      })
      const replaying = await store.change(letter!.id, {
        to: 'replaying',
        at: timing.now(),
        replayId: 'r-1',
      })
      const { id: letterId, handler } = letter!
      const headers = replayHeaders(letter!.event, { letterId, handler, replayId: 'r-1' })
      await collector.send([{ ...letter!.event, headers }], letter!.origin)
      const [back] = await outside!.peek(queue)
      expect(back).toMatchObject({
        fields: { exchange, routingKey: 'order.paid' },
        properties: { contentType: 'application/json', headers: { tries: 3, 'x-replayed': 'true' } },
      })
      expect(JSON.parse(back!.content.toString())).toEqual(letter!.event.payload)

      await rejectAll(queue, 1)
      await timing.eventually(async () => (await store.get(letter!.id))?.cycle.number === 1, 'failing again')
      expect(await store.get(letter!.id)).toMatchObject({ state: 'dead', endedCycles: [{ number: 0 }] })
      expect((await store.stats()).count).toBe(20)
      expect(replaying?.replays).toBe(1)
      await collector.close()
    },
  )

  it('B12: a returned message that does not come again counts as handled; if it does later, its letter reopens', async () => {
    const { queue, exchange, dlq } = await shop()
    await outside!.publish(exchange, 'order.paid', Buffer.from('hello'), { contentType: 'text/plain' })
    await rejectAll(queue, 1)
    const { store, open } = collecting([dlq])
    const collector = open()
    collector.start(store)
    await timing.eventually(async () => (await store.stats()).count === 1, 'collecting')
    const [letter] = (await store.list()).letters
    await store.change(letter!.id, { to: 'replaying', at: timing.now(), replayId: 'r-1' })
    const { id: letterId, handler } = letter!
    const headers = replayHeaders(letter!.event, { letterId, handler, replayId: 'r-1' })
    await collector.send([{ ...letter!.event, headers }], letter!.origin)
    await timing.eventually(async () => (await store.get(letter!.id))?.state === 'resolved', 'resolving')
    await rejectAll(queue, 1)
    await timing.eventually(async () => (await store.get(letter!.id))?.state === 'dead', 'opening anew')
    expect(await store.get(letter!.id)).toMatchObject({ cycle: { number: 1 } })
    await collector.close()
  })

  it("F3: a letter of Lazaret's own is the letter it was, and goes back to the queue of its handler", async () => {
    const channel = uniqueName('orders')
    const broker = rabbitmq({ url: server!.url })
    const make = createFactory({ random: systemRandom })
    const event = make.event({ channel })
    const subscription = await broker.subscribe(
      { channel, handler: 'bill', prefetch: 1, ordering: 'none' },
      delivery => {
        const letter = make.letter({ event, handler: 'bill', channel })
        void subscription.settle(delivery, { outcome: 'dead', letter, saved: false })
      },
    )
    await broker.publish([event])
    await timing.eventually(async () => (await outside!.depth(`${channel}.bill.dlq`)) === 1, 'the letter')
    await subscription.close()
    const { store, open } = collecting([`${channel}.bill.dlq`])
    const collector = open()
    collector.start(store)
    await timing.eventually(async () => (await store.stats()).count === 1, 'collecting')
    const [letter] = (await store.list()).letters
    expect(letter).toMatchObject({ event, handler: 'bill', origin: { collectedFrom: `${channel}.bill.dlq` } })
    const headers = replayHeaders(event, { handler: 'bill' })
    await collector.send([{ ...event, headers }], letter!.origin)
    expect(await outside!.depth(`${channel}.bill`)).toBe(1)
    await collector.close()
    await broker.close()
  })

  it('F6: health tells the real depth of the dead-letter queues that consumers here write to', async () => {
    const channel = uniqueName('orders')
    const consumer = createConsumer({
      broker: rabbitmq({ url: server!.url }),
      channel,
      handle: () => {
        throw new PermanentError('never')
      },
    })
    await consumer.start()
    for (let order = 0; order < 3; order++) await outside!.publish('', channel, Buffer.from(String(order)))
    const depths = async () => (await consumer.deadLetterDepths()).filter(({ depth }) => depth > 0)
    await timing.eventually(async () => (await depths())[0]?.depth === 3, 'dead letters')
    expect(await depths()).toEqual([{ queue: `${channel}.dlq`, depth: 3 }])
    const home = createServer({
      stores: memoryStore(),
      consumers: [consumer],
      degradedAt: 2,
      consoleDir: 'none',
    })
    const response = await home.fetch(new Request('http://127.0.0.1/healthz/consumer'))
    expect([response.status, await response.json()]).toMatchObject([503, { status: 'DEGRADED', dlqSize: 3 }])
    await home.close()
    await consumer.close()
  })

  it.each([
    ['classic', {}],
    ['quorum', QUORUM],
  ])(
    'F3: peeking at a %s queue makes letters and leaves every message where it is, in order',
    async (_, kind) => {
      const { queue, exchange, dlq } = await shop(kind)
      for (let order = 0; order < 10; order++)
        await outside!.publish(exchange, 'order.paid', Buffer.from(JSON.stringify({ order })))
      await rejectAll(queue, 10)
      await timing.eventually(async () => (await outside!.depth(dlq)) === 10, 'dead-lettering')
      const { store, open } = collecting([dlq], { mode: 'peek', peekLimit: 8, pollIntervalMs: 60_000 })
      const collector = open()
      collector.start(store)
      await timing.eventually(async () => (await store.stats()).count === 8, 'looking')
      await collector.close()
      await timing.eventually(async () => (await outside!.depth(dlq)) === 10, 'putting back')
      const orders = (await outside!.peek(dlq)).map(({ content }) => JSON.parse(content.toString()).order)
      expect(orders.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
      expect(orders).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    },
  )

  it('B7: a store that is down holds messages up and loses none', async () => {
    const { queue, exchange, dlq } = await shop()
    for (let order = 0; order < 5; order++)
      await outside!.publish(exchange, 'order.paid', Buffer.from(String(order)), { messageId: `m-${order}` })
    await rejectAll(queue, 5)
    const { store, open, errors } = collecting([dlq])
    const send = store.send.bind(store)
    let isDown = true
    store.send = letter => (isDown ? Promise.reject(new Error('disk full')) : send(letter))
    const collector = open()
    collector.start(store)
    await timing.eventually(() => errors.length > 0, 'telling')
    expect(String(errors[0])).toContain('disk full')
    isDown = false
    await timing.eventually(async () => (await store.stats()).count === 5, 'saving')
    expect(errors).toHaveLength(1)
    await collector.close()
    await timing.eventually(async () => (await outside!.depth(dlq)) === 0, 'acknowledging')
  })

  it('P2: messages with one message id and different bodies are letters of their own, each time they are found', async () => {
    const { queue, exchange, dlq } = await shop()
    const bodies = ['{"order":1}', '{"order":2}', '{"order":3}', '{"order":2}']
    for (const body of bodies)
      await outside!.publish(exchange, 'order.paid', Buffer.from(body), { messageId: 'same' })
    await rejectAll(queue, bodies.length)
    const { store, open } = collecting([dlq])
    const collector = open()
    collector.start(store)
    await timing.eventually(async () => (await store.stats()).count === 3, 'collecting')
    await timing.eventually(async () => (await outside!.depth(dlq)) === 0, 'acknowledging')
    const { letters } = await store.list()
    const payloads = letters.map(({ event }) => JSON.stringify(event.payload)).sort()
    expect(payloads).toEqual(['{"order":1}', '{"order":2}', '{"order":3}'])
    expect(letters.map(({ event }) => event.id).filter(id => id === 'same')).toHaveLength(1)

    const second = letters.find(({ event }) => JSON.stringify(event.payload) === '{"order":2}')!
    await store.change(second.id, { to: 'replaying', at: timing.now(), replayId: 'r-1' })
    const { id: letterId, handler, event } = second
    const headers = replayHeaders(event, { letterId, handler, replayId: 'r-1' })
    await collector.send([{ ...event, headers }], second.origin)
    await rejectAll(queue, 1)
    await timing.eventually(async () => (await store.get(letterId))?.cycle.number === 1, 'failing again')
    expect((await store.stats()).count).toBe(3)
    await collector.close()
  })

  it('F3: a queue that is not there is told of once, and collected when it comes', async () => {
    const dlq = uniqueName('late')
    const { store, open, errors } = collecting([dlq])
    const collector = open()
    collector.start(store)
    await timing.eventually(() => errors.length === 1, 'telling')
    expect(String(errors[0])).toContain(`collecting queue '${dlq}'`)
    await onChannel(outside!.connection, channel =>
      channel.assertQueue(dlq, { durable: true, arguments: {} }),
    )
    await outside!.publish('', dlq, Buffer.from('1'))
    await timing.eventually(async () => (await store.stats()).count === 1, 'collecting')
    expect(errors).toHaveLength(1)
    await collector.close()
  })
})
