import { expect, it } from 'vitest'
import { serverWorld } from '../../../test/support/server-world.ts'
import { memoryBroker } from '../../adapters/memory/index.ts'
import type { Broker } from '../../ports/broker.ts'
import { createConsumer } from './consumer.ts'

/** The broker without a kind, as one of your own can be. */
function withoutKind(broker: Broker): Broker {
  return {
    ...{ name: broker.name, capabilities: broker.capabilities },
    publish: events => broker.publish(events),
    subscribe: (...how) => broker.subscribe(...how),
    unblockKey: (...which) => broker.unblockKey(...which),
    close: () => broker.close(),
  }
}

it.each<[what: string, of: (broker: Broker) => Broker, kind: string | undefined]>([
  ['a broker that says its kind', broker => broker, 'memory'],
  ['a broker that does not', withoutKind, undefined],
])('B18: the letter of %s names the broker, and its kind if that is known', async (_, of, brokerKind) => {
  const { clock, store, make, ask } = serverWorld()
  const broker = memoryBroker({ clock, name: 'shop' })
  const consumer = createConsumer({
    ...{ broker: of(broker), channel: 'orders', name: 'bill', deadLetters: store.deadLetters, clock },
    ...{ retry: { attempts: 1 }, leaveOpen: true },
    handle: () => Promise.reject(new Error('out of order')),
  })
  await consumer.start()
  await broker.publish([make.event({ channel: 'orders' })])
  await clock.advance(1_000)
  const [letter] = (await store.deadLetters.list()).letters
  const { body } = await ask(`/api/v1/dead-letters/${encodeURIComponent(letter!.id)}`)
  expect(body.origin).toEqual({ broker: 'shop', ...(brokerKind && { brokerKind }), queue: 'orders' })
  await consumer.close()
})

it.each(['none', 'by-key'] as const)(
  'B9: a letter says that its consumer has the ordering %s',
  async ordering => {
    const { clock, store, make, ask } = serverWorld()
    const broker = memoryBroker({ clock, name: 'shop' })
    const consumer = createConsumer({
      ...{ broker, channel: 'orders', name: 'bill', ordering, deadLetters: store.deadLetters, clock },
      ...{ retry: { attempts: 1 }, leaveOpen: true },
      handle: () => Promise.reject(new Error('out of order')),
    })
    await consumer.start()
    await broker.publish([make.event({ channel: 'orders', key: 'a' })])
    await clock.advance(1_000)
    const [letter] = (await store.deadLetters.list()).letters
    const { body } = await ask(`/api/v1/dead-letters/${encodeURIComponent(letter!.id)}`)
    expect(body.ordering).toBe(ordering)
    await consumer.close()
  },
)
