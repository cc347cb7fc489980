import { expect, it } from 'vitest'
import { memoryBroker, memoryStore } from '../../adapters/memory/index.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { createConsumer } from '../consumer/consumer.ts'
import { joinFleet } from './join-fleet.ts'

const HOUR_MS = 3_600_000

/** A process whose broker counts its events as `lag` says, and the lags that the store has of it. */
async function member(lag: () => Promise<number>) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const consumer = createConsumer({
    ...{ broker: memoryBroker({ clock }), channel: 'orders', name: 'bill', clock },
    ...{ deadLetters: store.deadLetters, leaveOpen: true, handle: () => {} },
  })
  await consumer.start()
  consumer.lag = lag
  const membership = joinFleet({ store, service: 'orders', consumers: [consumer], clock })
  return {
    clock,
    reported: async () => (await store.fleet!.list()).map(({ report }) => report.consumers[0]?.lag),
    async close() {
      await membership.close()
      await consumer.close()
    },
  }
}

it('B17: a process reports although its broker does not count the events that wait', async () => {
  const counted = Promise.withResolvers<number>()
  const { clock, reported, close } = await member(() => counted.promise)
  await clock.advance(3_000)
  expect(await reported()).toEqual([undefined])
  counted.resolve(7)
  await clock.advance(5_000)
  expect(await reported()).toEqual([7])
  await close()
})

it('B17: a clock that is set back by an hour does not make a process report an old lag for that hour', async () => {
  let lag = 1
  const { clock, reported, close } = await member(async () => lag)
  await clock.advance(1_000)
  expect(await reported()).toEqual([1])
  lag = 2
  clock.jump(-HOUR_MS)
  await clock.advance(10_000)
  expect(await reported()).toEqual([2])
  await close()
})
