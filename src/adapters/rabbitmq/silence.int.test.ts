import { describe, expect, it } from 'vitest'
import { rabbitmqWorld } from '../../../test/support/rabbitmq-world.ts'
import { SilentClient } from '../../../test/support/silent-client.ts'
import type { Delivery, SubscriptionStatus } from '../../ports/broker.ts'
import { idOf } from '../../testing/conformance/broker/world.ts'
import { TestTiming, uniqueName } from '../../testing/conformance/harness.ts'
import { rabbitmq } from './index.ts'

const { found, url, why, make } = await rabbitmqWorld()
/** The watch itself takes 3 to 4 s before it opens another channel. */
const timing = new TestTiming({})
const TEST_MS = 60_000

const kinds = (['quorum', 'classic'] as const).flatMap(queueType =>
  (['none', 'by-key'] as const).map(ordering => ({ queueType, ordering })),
)

describe.runIf(found.found)(`a RabbitMQ consumer that the server has forgotten${why}`, () => {
  it.each(kinds)(
    'B7: on a $queueType queue with ordering $ordering it is noticed, told, and everything is handled',
    async ({ queueType, ordering }) => {
      const channel = uniqueName('orders')
      const client = new SilentClient()
      const broker = rabbitmq({ url, queueType, client })
      const handled = new Set<string>()
      const news: SubscriptionStatus[] = []
      const settle = async (delivery: Delivery) => {
        await subscription.begin(delivery, [])
        await subscription.settle(delivery, { outcome: 'done' })
        handled.add(idOf(delivery))
      }
      const subscription = await broker.subscribe(
        { channel, handler: channel, prefetch: 10, ordering },
        delivery => void settle(delivery).catch(() => {}),
        each => news.push(each),
      )
      const publish = async (count: number) => {
        const events = Array.from({ length: count }, (_, index) => make.event({ channel, key: `k${index}` }))
        await broker.publish(events)
        return events
      }
      const allHandled = (events: readonly { readonly id: string }[]) =>
        timing.eventually(() => events.every(({ id }) => handled.has(id)), 'everything is handled')

      await allHandled(await publish(5))
      client.silence(channel)
      const late = await publish(10)
      await timing.eventually(() => news.length > 0, 'it is told')
      expect(news[0]).toMatchObject({ state: 'stalled', place: 'deliveries' })
      await allHandled(late)
      await timing.eventually(() => news.at(-1)?.state === 'recovered', 'it is told to be over')
      await broker.close()
    },
    TEST_MS,
  )
})
