import { memoryBroker, memoryStore } from '../../src/adapters/memory/index.ts'
import { createIdSource } from '../../src/core/event/uuid.ts'
import { startReplay } from '../../src/replay/control.ts'
import { replayThroughFleet } from '../../src/replay/fleet-target.ts'
import { planReplay } from '../../src/replay/plan.ts'
import type { PlanRequest } from '../../src/replay/plan-options.ts'
import { runReplay } from '../../src/replay/runner.ts'
import { withRoutes } from '../../src/replay/target.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { joinFleet } from '../../src/runtime/fleet/join-fleet.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

const REQUEST = { filter: { channel: 'orders' }, reason: 'fixed', by: 'ann' }
/** On the driven clock. No work of these tests takes nearly as long. */
const MUST_END_MS = 300_000

/**
 * A broker that only services can reach, letters of it in a shared store, and a server that has only the store. The clock of
 * the store is ahead of all others by `storeAheadMs`.
 */
export function deliveryWorld(letters: number, { storeAheadMs = 0 } = {}) {
  const clock = new FakeClock()
  const random = seededRandom(3)
  const storeClock = {
    now: () => clock.now() + storeAheadMs,
    monotonic: () => clock.monotonic(),
    schedule: clock.schedule.bind(clock),
  }
  const store = { ...memoryStore({ clock: storeClock }), broker: undefined }
  const broker = memoryBroker({ clock, name: 'rabbitmq' })
  const make = createFactory({ clock })
  const environment = { clock, newId: createIdSource(random) }
  const handled: string[] = []
  const published: string[] = []
  const shop = { isBroken: true, beforePublish: async (_by: string) => {} }
  /** Publishes as the process `name`. */
  const brokerOf = (name: string) => ({
    ...{ name: 'rabbitmq', capabilities: broker.capabilities },
    publish: async (events: Parameters<typeof broker.publish>[0]) => {
      await shop.beforePublish(name)
      published.push(...events.map(({ id }) => `${name} ${id}`))
      await broker.publish(events)
    },
    subscribe: broker.subscribe.bind(broker),
    unblockKey: broker.unblockKey.bind(broker),
    close: async () => {},
  })
  const consumerOf = async (name: string) => {
    const consumer = createConsumer({
      broker: brokerOf(name),
      channel: 'orders',
      name: 'ship',
      deadLetters: store.deadLetters,
      retry: { attempts: 1 },
      breaker: 'off',
      leaveOpen: true,
      clock,
      handle: async ({ id }) => {
        if (shop.isBroken) throw new Error('out of order')
        handled.push(id)
      },
    })
    await consumer.start()
    return consumer
  }
  const join = async (name: string, more: Partial<Parameters<typeof joinFleet>[0]> = {}) =>
    joinFleet({ store, service: name, consumers: [await consumerOf(name)], clock, random, ...more })
  const target = () => replayThroughFleet(store, undefined, environment)!
  const plan = (more: Partial<PlanRequest> = {}) =>
    planReplay(store, { ...REQUEST, ...more }, withRoutes(environment, target()))
  const run = (id: string, owner = 'server') => runReplay(store, id, { target: target(), environment, owner })
  /** Drives the clock until it is so. */
  const reach = async (isSo: () => boolean, stepMs = 100) => {
    const endsBy = clock.now() + MUST_END_MS
    while (!isSo()) {
      if (clock.now() >= endsBy) throw new Error('the driven time is over')
      await clock.advance(stepMs)
    }
  }
  return {
    ...{ clock, store, broker, make, environment, handled, published, shop },
    ...{ consumerOf, join, target, plan, run, reach },
    /** Makes letters, and fixes the shop. */
    async fail() {
      const consumer = await consumerOf('first')
      await broker.publish(make.events(letters, { channel: 'orders' }))
      await clock.advance(1_000)
      await consumer.close()
      shop.isBroken = false
    },
    async start(more: Partial<PlanRequest> = {}) {
      const { id } = await plan(more)
      await startReplay(store, id, { by: 'ann', clock })
      return id
    },
    /** Drives the clock until the work has ended. */
    async until<T>(work: Promise<T>, stepMs = 100): Promise<T> {
      let isOver = false
      void work.then(
        () => {
          isOver = true
        },
        () => {
          isOver = true
        },
      )
      await reach(() => isOver, stepMs)
      return work
    },
  }
}
