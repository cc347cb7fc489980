import { expect, it } from 'vitest'
import { FakeRabbitmq } from '../../../../../test/support/fake-rabbitmq.ts'
import { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import type { Delivery, Settlement, SubscriptionStatus } from '../../../../ports/broker.ts'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import { resolveRabbitmq } from '../../options.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { LostDeliveries, type RabbitmqDelivery } from '../consume/delivery.ts'
import { OWN } from '../wire/headers.ts'
import { OrderedSubscription } from './ordered-subscription.ts'
import { REFRESH_MS } from './ownership.ts'

const PREFETCH = 10

/** A subscription that keeps the order of queue `q`, without what writes on the server. */
async function subscribeOn(server: FakeRabbitmq, { window = 100, maxHeld = 5_000 } = {}) {
  const clock = new FakeClock()
  const settings = resolveRabbitmq({ url: 'amqp://test', clock })
  const news: SubscriptionStatus[] = []
  const stalls = new StallReporter(each => news.push(each))
  const delivered: Delivery[] = []
  let restored = 0
  /** Events that were written to the held queue. */
  const held: [id: string | undefined, place: number][] = []
  const calls = { sendToken: async () => {}, restore: async () => {} }
  const context = {
    settings,
    source: { broker: 'rabbitmq', channel: 'q', handler: 'q', queue: 'q', stalls },
    prefetch: PREFETCH,
    deliver: (delivery: Delivery) => void delivered.push(delivery),
    link: { server: 'amqp://test', get: async () => server.connection },
    topology: {
      restore: () => {
        restored++
        return calls.restore()
      },
      order: async () => {},
      bind: async () => {},
    },
    settler: {
      sendToken: async () => {
        await calls.sendToken()
        server.publish('q.owner', 'token')
      },
      hold: async ({ id, event }: RabbitmqDelivery, place: number) => {
        held.push([id, place])
        server.publish('q.held', id!, {
          ...(event?.key && { key: event.key }),
          headers: { [OWN.place]: place },
        })
        return true
      },
      markDead: async ({ id }: RabbitmqDelivery, place: number, key: string) => {
        const headers = { [OWN.place]: place, [OWN.key]: key, [OWN.deadEvent]: id! }
        server.publish('q.held', 'mark', { headers })
        return true
      },
      renewHeld: async (_queue: string, { properties }: AmqpMessage) =>
        server.publish('q.held', properties.messageId!, { headers: properties.headers! }),
    },
    lost: new LostDeliveries(),
    forget: () => {},
  } as unknown as SubscriptionContext
  const subscription = new OrderedSubscription(context, window, maxHeld)
  subscription.start()
  await subscription.open()
  await clock.advance(100)
  const ids = () => delivered.map(delivery => (delivery as RabbitmqDelivery).id)
  const finish = (delivery: Delivery) => void subscription.settle(delivery, { outcome: 'done' })
  const close = () => Promise.all([subscription.close(), clock.advance(10_000)])
  return { subscription, clock, news, close, delivered, ids, finish, held, calls, restored: () => restored }
}

it('B7: in order, a queue with messages for a free consumer that gets none is consumed on another channel, and told of', async () => {
  const server = new FakeRabbitmq()
  const { clock, news, close, ids, restored } = await subscribeOn(server)
  server.forgetConsumers('q')
  server.publish('q', 'first', { key: 'k' })
  await clock.advance(2_800)
  expect([server.sessions, ids(), news]).toEqual([1, [], []])
  await clock.advance(2_000)
  expect([server.sessions, ids(), restored()]).toEqual([2, ['first'], 1])
  expect(news).toMatchObject([{ state: 'stalled', place: 'deliveries' }])
  expect((news[0] as { error: Error }).error.message).toContain("queue 'q': messages are ready")
  await clock.advance(2_000)
  expect(news.at(-1)).toEqual({ state: 'recovered', place: 'deliveries' })
  await close()
})

it.each(['q.held', 'q.owner'])('B7: in order, the same goes for %s', async queue => {
  const server = new FakeRabbitmq()
  const { clock, news, close } = await subscribeOn(server)
  server.forgetConsumers(queue)
  server.publish(queue, 'copy')
  await clock.advance(5_000)
  expect([server.sessions, server.ready(queue)]).toEqual([2, 0])
  expect((news[0] as { error: Error }).error.message).toContain(`queue '${queue}'`)
  await close()
})

it('B7: in order, messages that wait because a key has filled the window do not cause another channel', async () => {
  const server = new FakeRabbitmq()
  const window = 3
  const { clock, news, ids, close } = await subscribeOn(server, { window })
  const waitMs = 3_600_000
  const notBefore = new Date(clock.now() + waitMs).toISOString()
  const log = JSON.stringify({ waitMs, notBefore })
  server.publish('q', 'waits', { key: 'k', headers: { [OWN.log]: log } })
  for (const id of ['a', 'b', 'c', 'd']) server.publish('q', id, { key: 'k' })
  await clock.advance(120_000)
  expect([server.sessions, ids(), news, server.ready('q')]).toEqual([1, [], [], 2])
  await close()
})

it('B7: in order, keys that are held take no places of the window, however many they are', async () => {
  const server = new FakeRabbitmq()
  for (const id of ['a', 'b', 'c', 'd'])
    server.publish('q.held', `mark of ${id}`, { key: id, headers: { [OWN.deadEvent]: id } })
  const window = 3
  const { clock, ids, close } = await subscribeOn(server, { window })
  server.forgetConsumers('q')
  server.publish('q', 'first', { key: 'k' })
  await clock.advance(5_000)
  expect([server.sessions, ids()]).toEqual([2, ['first']])
  await close()
})

it('B7: in order, no channel is reopened while the queue is empty and a key waits', async () => {
  const server = new FakeRabbitmq()
  const { clock, news, close } = await subscribeOn(server)
  server.publish('q', 'open', { key: 'k' })
  server.publish('q', 'behind', { key: 'k' })
  await clock.advance(120_000)
  expect([server.sessions, news]).toEqual([1, []])
  await close()
})

it('B7: in order, what is being handled is finished first, and what waits behind it is not begun on a channel that is given up', async () => {
  const server = new FakeRabbitmq()
  const { clock, close, delivered, ids, finish } = await subscribeOn(server)
  server.publish('q', 'open', { key: 'k' })
  server.publish('q', 'behind', { key: 'k' })
  await clock.advance(0)
  server.forgetConsumers('q')
  server.publish('q', 'later', { key: 'other' })
  await clock.advance(5_000)
  expect([server.sessions, ids()]).toEqual([1, ['open']])
  finish(delivered[0]!)
  await clock.advance(1_000)
  expect(server.sessions).toBe(2)
  expect(ids()).toEqual(['open', 'behind'])
  finish(delivered[1]!)
  await clock.advance(1_000)
  expect(ids()).toEqual(['open', 'behind', 'later'])
  await close()
})

it('B7: in order, a handler that does not end holds another channel up for 5 s', async () => {
  const server = new FakeRabbitmq()
  const { clock, close, ids } = await subscribeOn(server)
  server.publish('q', 'endless', { key: 'k' })
  await clock.advance(0)
  server.forgetConsumers('q')
  server.publish('q', 'later', { key: 'other' })
  await clock.advance(12_000)
  expect(server.sessions).toBe(2)
  expect(ids()).toEqual(['endless', 'endless'])
  await close()
})

it('B7: in order, one who stands by does not tell of a queue that is for another to see to', async () => {
  const server = new FakeRabbitmq()
  const { clock, news, close } = await subscribeOn(server)
  server.forgetConsumers('q')
  server.publish('q', 'first', { key: 'k' })
  server.giveTokensToAnother()
  await clock.advance(60_000)
  expect(server.sessions).toBe(2)
  expect(news.map(({ state }) => state)).toEqual(['stalled', 'recovered'])
  await close()
})

it('P1: a held message that comes late is loaded, and not taken for an extra copy', async () => {
  const server = new FakeRabbitmq()
  for (const [index, id] of ['first', 'second'].entries())
    server.publish('q.held', id, { key: id, headers: { [OWN.place]: index + 1 } })
  server.handOver('q.held', 1)
  const { clock, delivered, finish, ids, close } = await subscribeOn(server)
  await clock.advance(6_000)
  server.handOver('q.held', Number.POSITIVE_INFINITY)
  await clock.advance(20_000)
  finish(delivered[0]!)
  expect(ids()).toEqual(['first', 'second'])
  expect(server.acknowledged).not.toContain('second')
  await close()
})

it('P1: a held event that the server did not count is loaded later, and not acknowledged', async () => {
  const server = new FakeRabbitmq()
  server.publish('q.held', 'first', { key: 'k', headers: { [OWN.place]: 1 }, redelivered: true })
  server.publish('q', 'second', { key: 'k' })
  server.uncounted.add('q.held')
  server.handOver('q.held', 0)
  const { clock, ids, delivered, finish, close } = await subscribeOn(server)
  await clock.advance(1_000)
  server.uncounted.clear()
  server.handOver('q.held', Number.POSITIVE_INFINITY)
  await clock.advance(1_000)
  expect(server.acknowledged).not.toContain('first')
  expect(server.acknowledged).not.toContain('first')
  expect(ids().at(-1)).toBe('first')
  finish(delivered.at(-1)!)
  await clock.advance(0)
  expect(ids().at(-1)).toBe('second')
  await close()
})

it('B7: in order, a queue that must not be consumed is reported, and asked for less and less often', async () => {
  const server = new FakeRabbitmq()
  server.refused.add('q')
  const { clock, news, restored, close } = await subscribeOn(server)
  await clock.advance(60_000)
  expect(restored()).toBeGreaterThan(10)
  expect(restored()).toBeLessThan(25)
  expect(news).toMatchObject([{ state: 'stalled', place: 'deliveries' }])
  expect((news[0] as { error: Error }).error.message).toContain('403')
  server.refused.clear()
  await clock.advance(10_000)
  expect(news.at(-1)).toMatchObject({ state: 'recovered' })
  await close()
})

it.each(['replayed', 'discarded'])(
  'B9: an event whose letter is %s before it is dead does not block its key',
  async how => {
    const server = new FakeRabbitmq()
    const { clock, ids, delivered, subscription, close } = await subscribeOn(server)
    server.publish('q', 'first', { key: 'k' })
    await clock.advance(100)
    if (how === 'replayed') server.publish('q', 'first', { key: 'k' })
    else {
      server.publish('q.held', 'request', { headers: { [OWN.unblockKey]: 'first' } })
      server.publish('q', 'second', { key: 'k' })
    }
    await subscription.settle(delivered[0]!, { outcome: 'dead', saved: true } as Settlement)
    await clock.advance(100)
    expect(ids()).toEqual(['first', how === 'replayed' ? 'first' : 'second'])
    await close()
  },
)

/** So many keys have a dead-lettered event each. */
function blockKeys(server: FakeRabbitmq, count: number): void {
  for (let number = 1; number <= count; number++)
    server.publish('q.held', 'mark', {
      key: `key ${number}`,
      headers: { [OWN.place]: number, [OWN.deadEvent]: `dead ${number}` },
    })
}

it('B9: 2 001 blocked keys, more than a quorum queue gives without a limit, do not stop the others', async () => {
  const server = new FakeRabbitmq()
  blockKeys(server, 2_001)
  server.publish('q', 'of another key', { key: 'k' })
  const { clock, ids, news, close } = await subscribeOn(server)
  await clock.advance(20_000)
  expect([ids(), server.sessions, news]).toEqual([['of another key'], 1, []])
  await close()
})

it('B9: a key that was unblocked while nobody kept the order is not blocked', async () => {
  const server = new FakeRabbitmq()
  blockKeys(server, 2)
  server.publish('q.held', 'request', { headers: { [OWN.unblockKey]: 'dead 1', [OWN.unblockQueue]: 'q' } })
  server.publish('q', 'first', { key: '1' })
  server.publish('q', 'second', { key: '2' })
  const { clock, ids, close } = await subscribeOn(server)
  await clock.advance(20_000)
  expect(ids()).toEqual(['first'])
  expect(server.acknowledged).toEqual(['mark', 'request'])
  await close()
})

it('B9: with too many held events nothing new begins, which is reported, until keys are unblocked', async () => {
  const server = new FakeRabbitmq()
  blockKeys(server, 3)
  server.publish('q', 'new', { key: 'k' })
  const { clock, ids, news, close } = await subscribeOn(server, { maxHeld: 3 })
  await clock.advance(20_000)
  expect(ids()).toEqual([])
  expect(news).toMatchObject([{ state: 'stalled', place: 'deliveries' }])
  expect((news[0] as { error: Error }).error.message).toContain("queue 'q.held': 3 events wait")
  server.publish('q.held', 'request', { headers: { [OWN.unblockKey]: 'dead 2' } })
  await clock.advance(0)
  expect([ids(), news.at(-1)]).toEqual([['new'], { state: 'recovered', place: 'deliveries' }])
  await close()
})

it('B9: one channel takes the place of the lost one, also if that is lost while it is opened', async () => {
  const server = new FakeRabbitmq()
  const { clock, calls, close } = await subscribeOn(server)
  const sending = Promise.withResolvers<void>()
  calls.sendToken = () => sending.promise
  await server.endChannels()
  await clock.advance(200)
  await server.endChannels()
  calls.sendToken = async () => {}
  sending.resolve()
  await clock.advance(60_000)
  expect(server.countConsumers('q.owner')).toBe(1)
  await server.endChannels()
  await clock.advance(60_000)
  expect(server.countConsumers('q.owner')).toBe(1)
  await close()
})

it('B9: a server that refuses the channel is asked less and less often', async () => {
  const server = new FakeRabbitmq()
  const { clock, calls, news, restored, close } = await subscribeOn(server)
  calls.sendToken = async () => {
    await server.endChannels()
    throw new Error('403')
  }
  await server.endChannels()
  await clock.advance(60_000)
  expect(restored()).toBeGreaterThan(10)
  expect(restored()).toBeLessThan(25)
  expect(news).toMatchObject([{ state: 'stalled', place: 'deliveries' }])
  await close()
})

it('B7: a subscription that is closed while its channel is opened again leaves no consumer', async () => {
  const server = new FakeRabbitmq()
  const { clock, calls, close } = await subscribeOn(server)
  const restoring = Promise.withResolvers<void>()
  calls.restore = () => restoring.promise
  await server.endChannels()
  await clock.advance(200)
  await close()
  restoring.resolve()
  await clock.advance(1_000)
  expect(server.countConsumers('q.owner')).toBe(0)
})

it('B9: an event is not held before one in front of it that runs', async () => {
  const server = new FakeRabbitmq()
  const { clock, held, ids, close } = await subscribeOn(server)
  for (const id of ['open', 'behind']) server.publish('q', id, { key: 'k' })
  await clock.advance(REFRESH_MS)
  expect([ids(), held]).toEqual([['open'], []])
  await close()
})

it('B9: the events behind a dead one are held in their order, each when that before it is held', async () => {
  const server = new FakeRabbitmq()
  server.publish('q.held', 'mark', { key: 'key k', headers: { [OWN.place]: 1, [OWN.deadEvent]: 'dead' } })
  const { clock, held, ids, close } = await subscribeOn(server)
  for (const id of ['second', 'third']) server.publish('q', id, { key: 'k' })
  await clock.advance(REFRESH_MS)
  expect([ids(), held]).toEqual([
    [],
    [
      ['second', 2],
      ['third', 3],
    ],
  ])
  await close()
})

it('B9: a held CloudEvent of another program stands in the line of its key after a takeover', async () => {
  const server = new FakeRabbitmq()
  const cloudEvent = (id: string, more?: object) => ({
    appId: 'shop',
    headers: {
      'cloudEvents:specversion': '1.0',
      'cloudEvents:id': id,
      'cloudEvents:type': 'order.placed',
      'cloudEvents:source': '/shop',
      'cloudEvents:partitionkey': 'k',
      ...more,
    },
  })
  const wait = { waitMs: 60_000, notBefore: '2100-01-01T00:00:00.000Z' }
  server.publish('q.held', 'first', cloudEvent('first', { [OWN.place]: 1, [OWN.log]: JSON.stringify(wait) }))
  const { clock, ids, close } = await subscribeOn(server)
  server.publish('q', 'second', cloudEvent('second'))
  await clock.advance(0)
  expect(ids()).toEqual([])
  await clock.advance(61_000)
  expect(ids()).toEqual(['first'])
  await close()
})
