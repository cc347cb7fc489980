import { expect, it } from 'vitest'
import { memoryBroker, memoryStore } from '../../adapters/memory/index.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { createConsumer } from '../consumer/consumer.ts'
import { joinFleet } from './join-fleet.ts'

const HOUR_MS = 3_600_000

it('B17: a clock that is set back by an hour does not make a process report an old lag for that hour', async () => {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const consumer = createConsumer({
    ...{ broker: memoryBroker({ clock }), channel: 'orders', name: 'bill', clock },
    ...{ deadLetters: store.deadLetters, leaveOpen: true, handle: () => {} },
  })
  await consumer.start()
  let lag = 1
  consumer.lag = async () => lag
  const member = joinFleet({ store, service: 'orders', consumers: [consumer], clock })
  const reported = async () => (await store.fleet!.list())[0]?.report.consumers[0]?.lag
  await clock.advance(1_000)
  expect(await reported()).toBe(1)
  lag = 2
  clock.jump(-HOUR_MS)
  await clock.advance(10_000)
  expect(await reported()).toBe(2)
  await member.close()
  await consumer.close()
})
