import { expect, it } from 'vitest'
import { serverWorld } from '../../test/support/server-world.ts'
import { memoryBroker, memoryDeadLetters, memoryStore } from '../adapters/memory/index.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { joinFleet } from '../runtime/fleet/join-fleet.ts'
import { FakeClock } from '../testing/fake-clock.ts'

it('B17: a process that joined on two stores under one id counts once, with the consumers of both', async () => {
  const clock = new FakeClock()
  const stores = { letters: memoryStore({ clock }), jobs: memoryStore({ clock }) }
  const consumerOf = async (channel: string) => {
    const consumer = createConsumer({
      ...{ broker: memoryBroker({ clock }), channel, name: 'bill', clock },
      ...{ deadLetters: memoryDeadLetters(), handle: () => {} },
    })
    await consumer.start()
    return consumer
  }
  const [orders, mails] = [await consumerOf('orders'), await consumerOf('mails')]
  const how = { service: 'shop', id: 'shop-1', clock }
  const members = [
    joinFleet({ ...how, store: stores.letters, consumers: [orders] }),
    joinFleet({ ...how, store: stores.jobs, consumers: [orders, mails] }),
  ]
  await clock.advance(1_000)
  const { ask } = serverWorld({ stores, clock })
  const { instances } = (await ask('/api/v1/fleet')).body
  expect(instances).toMatchObject([
    { id: 'shop-1', state: 'alive', consumers: [{ channel: 'orders' }, { channel: 'mails' }] },
  ])
  const { services } = (await ask('/api/v1/fleet/services')).body
  expect(services).toMatchObject([
    {
      alive: 1,
      consumers: [
        { channel: 'orders', processes: 1 },
        { channel: 'mails', processes: 1 },
      ],
    },
  ])
  expect((await ask('/healthz/consumer')).body.fleet).toEqual({ alive: 1, gone: [] })
  const { body: own } = await ask('/api/v1/fleet?store=letters')
  expect(own.instances).toMatchObject([{ store: 'letters', consumers: [{ channel: 'orders' }] }])
  // It is alive as long as it reports to one of its stores.
  await members[0]!.close()
  await clock.advance(3_000)
  expect((await ask('/api/v1/fleet/services')).body.services).toMatchObject([{ alive: 1, left: 0 }])
  await members[1]!.close()
  await clock.advance(3_000)
  expect((await ask('/api/v1/fleet/services')).body.services).toMatchObject([{ alive: 0, left: 1 }])
  await Promise.all([orders.close(), mails.close()])
})

it('B17: an id that a store cannot keep is refused', () => {
  const store = memoryStore()
  expect(() => joinFleet({ store, service: 'shop', id: 'a b' })).toThrow(/id: .*letters, digits/s)
})
