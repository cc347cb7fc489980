import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { rabbitmq } from '../src/adapters/rabbitmq/index.ts'
import { fixed } from '../src/core/retry/fixed.ts'
import type { Notice } from '../src/ports/notifier.ts'
import type { Consumer } from '../src/runtime/consumer/consumer.ts'
import { createRelay, type RelayOptions } from '../src/runtime/relay/relay.ts'
import { TestTiming, uniqueName } from '../src/testing/conformance/harness.ts'
import { ChaosProxy } from './chaos/proxy.ts'
import { findPostgres } from './services/postgres.ts'
import { findRabbitmq } from './services/rabbitmq.ts'
import { make, OutboxWorld } from './support/outbox-world.ts'
import { TestDatabase } from './support/postgres.ts'
import { RabbitmqAdmin } from './support/rabbitmq.ts'

const services = [await findPostgres(), await findRabbitmq()] as const
const [foundPostgres, foundRabbitmq] = services
const missing = services.flatMap(each => (each.found ? [] : [each.why]))
const isThere = missing.length === 0
const postgres = isThere && foundPostgres.found ? await foundPostgres.start() : undefined
const rabbit = isThere && foundRabbitmq.found ? await foundRabbitmq.start() : undefined
const database = postgres && (await TestDatabase.migrated(postgres))
const outside = rabbit && (await RabbitmqAdmin.at(rabbit.url))
const proxy = rabbit && (await ChaosProxy.to(rabbit.url))
const world = new OutboxWorld(database!)
const timing = new TestTiming({})
const relays: Consumer[] = []
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close()
  await world.close()
})
afterAll(async () => {
  await proxy?.close()
  await outside?.close()
  await database?.close()
  await postgres?.close()
  await rabbit?.close()
})

/** As another process: an outbox and a connection of its own. */
async function relay(channel: string, options: Partial<RelayOptions> = {}): Promise<void> {
  const started = createRelay({
    from: world.process({ maxPollMs: 50 }),
    channel,
    name: 'to-rabbitmq',
    to: rabbitmq({ url: proxy!.through(rabbit!.url), reconnectBaseMs: 20, confirmTimeoutMs: 2_000 }),
    breaker: 'off',
    retry: { attempts: 100, backoff: fixed({ delayMs: 20 }) },
    ...options,
  })
  relays.push(started)
  await started.start()
}

async function allDelivered(channel: string): Promise<void> {
  const left = `select count(*)::int as count from lazaret.outbox where channel = $1 and status <> 'delivered'`
  await timing.eventually(
    async () => (await database!.rows<{ count: number }>(left, [channel]))[0]!.count === 0,
    'all are delivered',
  )
}

describe.runIf(isThere)(
  `relays from the outbox to RabbitMQ${isThere ? '' : ` (skipped: ${missing.join('; ')})`}`,
  () => {
    it('S8: a message has the id and idempotency key of its event, and is there when its row is delivered', async () => {
      const channel = uniqueName('orders')
      await relay(channel)
      const tx = await database!.pool.connect()
      await tx.query('begin')
      const order = { channel, type: 'order.placed', idempotencyKey: 'charge-1', payload: { order: 17 } }
      const event = await world.process().enqueue(tx, order)
      await tx.query('commit')
      tx.release()
      await allDelivered(channel)
      const [message] = await outside!.peek(channel)
      expect(message!.properties).toMatchObject({ messageId: event.id, type: 'order.placed' })
      expect(Object.values(message!.properties.headers ?? {})).toContain('charge-1')
      expect(JSON.parse(message!.content.toString())).toEqual({ order: 17 })
    })

    it('B9: several relays at once, connections cut: nothing is missing and keys are in order', async () => {
      const channel = uniqueName('orders')
      for (let process = 0; process < 3; process++) await relay(channel, { ordering: 'by-key' })
      const events = Array.from({ length: 300 }, (_, index) =>
        make.event({ channel, key: `key-${index % 9}` }),
      )
      await world.process().publish(events)
      for (let cuts = 0; cuts < 5; cuts++) {
        const depth = await outside!.depth(channel).catch(() => 0)
        await timing.eventually(
          async () => (await outside!.depth(channel).catch(() => 0)) >= Math.min(300, depth + 25),
          'some more arrive',
        )
        proxy!.cut()
      }
      await allDelivered(channel)
      const arrived = [...new Set((await outside!.peek(channel)).map(each => each.properties.messageId))]
      expect(arrived).toHaveLength(events.length)
      for (const ofKey of Map.groupBy(events, ({ key }) => key).values()) {
        const ids = new Set(ofKey.map(({ id }) => id))
        expect(arrived.filter(id => ids.has(id!))).toEqual([...ids])
      }
    })

    it('F3, S7: an event that the receiver refuses is a failed row with the reason, and a notifier reports it', async () => {
      const channel = uniqueName('orders')
      const to = rabbitmq({
        url: rabbit!.url,
        route: ({ type }) => ({ exchange: '', routingKey: type === 'lost' ? 'no-such-queue' : channel }),
      })
      const there = rabbitmq({ url: rabbit!.url })
      const nobody = { channel, handler: channel, prefetch: 1, ordering: 'none' } as const
      await (await there.subscribe(nobody, () => {})).close()
      await there.close()
      const notices: Notice[] = []
      await relay(channel, { to, notifier: { notify: async notice => void notices.push(notice) } })
      const [lost, good] = [
        make.event({ channel, type: 'lost', source: '/shop/checkout' }),
        make.event({ channel }),
      ]
      await world.process().publish([lost, good])
      await timing.eventually(async () => (await outside!.depth(channel)) === 1, 'the good one arrives')
      await timing.eventually(
        async () => (await world.rows(lost.id))[0]?.status === 'failed',
        'the other failed',
      )
      const [row] = await world.rows(lost.id)
      expect(row).toMatchObject({ target: 'to-rabbitmq', attempts: 1 })
      expect(row!.last_error).toContain('no queue takes it')
      await timing.eventually(() => notices.length === 1, 'somebody is told')
      expect(notices[0]).toMatchObject({
        kind: 'dead_letter',
        failed: {
          eventId: lost.id,
          type: 'lost',
          source: '/shop/checkout',
          target: row!.target,
          handler: 'to-rabbitmq',
          lastError: row!.last_error,
          attempts: 1,
        },
      })
    })
  },
)
