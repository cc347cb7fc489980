import { expect, it } from 'vitest'
import { memoryBroker, memoryStore } from '../../adapters/memory/index.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { createConsumer } from '../consumer/consumer.ts'
import { joinFleet } from './join-fleet.ts'

it('B17: a process reports although its broker does not count the events that wait', async () => {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const consumer = createConsumer({
    ...{ broker: memoryBroker({ clock }), channel: 'orders', name: 'bill', clock },
    ...{ deadLetters: store.deadLetters, leaveOpen: true, handle: () => {} },
  })
  await consumer.start()
  const counted = Promise.withResolvers<number>()
  consumer.lag = () => counted.promise
  const member = joinFleet({ store, service: 'orders', consumers: [consumer], clock })
  const reported = async () => (await store.fleet!.list()).map(({ report }) => report.consumers[0]?.lag)
  await clock.advance(3_000)
  expect(await reported()).toEqual([undefined])
  counted.resolve(7)
  await clock.advance(5_000)
  expect(await reported()).toEqual([7])
  await member.close()
  await consumer.close()
})
