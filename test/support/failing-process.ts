import { memoryBroker } from '../../src/adapters/memory/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { type FleetMembership, joinFleet } from '../../src/runtime/fleet/join-fleet.ts'
import type { FakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

/** Where the letters came from that only the process below could send. */
export const ONLY_ITS_OWN = { handler: 'bill', origin: { broker: 'rabbitmq', queue: 'orders' } } as const

/** Joins the fleet as a process that takes deliveries for orders/bill, and fails to send each letter with this error. */
export async function joinFailing(store: Store, clock: FakeClock, error: string): Promise<FleetMembership> {
  const broker = memoryBroker({ clock, name: 'rabbitmq' })
  broker.publish = () => Promise.reject(new Error(error))
  const consumer = createConsumer({
    ...{ broker, channel: 'orders', name: 'bill', clock },
    ...{ deadLetters: store.deadLetters, leaveOpen: true, handle: () => {} },
  })
  await consumer.start()
  const member = joinFleet({ store, service: 'shop', consumers: [consumer], clock, random: seededRandom(1) })
  await clock.advance(3_000)
  return member
}
