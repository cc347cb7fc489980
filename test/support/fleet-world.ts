import { memoryBroker, memoryDeadLetters, memorySink, memoryStore } from '../../src/adapters/memory/index.ts'
import type { StandardSchema } from '../../src/ports/schema.ts'
import type { Store } from '../../src/ports/store.ts'
import { type Consumer, createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { createDispatcher } from '../../src/runtime/dispatcher/dispatcher.ts'
import { type FleetStore, joinFleet } from '../../src/runtime/fleet/join-fleet.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

interface ProcessOptions {
  readonly service: string
  readonly version?: string
  readonly release?: string
  readonly host: string
  readonly pid: number
  /** Whether its handler fails [no]. */
  readonly fails?: boolean
}

const anything: StandardSchema = {
  '~standard': { version: 1, vendor: 'test', validate: value => ({ value }) },
}

/** A process of a fleet, as a test sees it. */
export interface FleetProcess {
  readonly id: string
  readonly consumer: Consumer
  readonly crm: ReturnType<typeof memorySink>
  /** Publishes events to its consumer. */
  publish(count: number): Promise<void>
  /** Ends its reports and commands without a word, as a crash does. */
  crash(): void
  leave(): Promise<void>
  close(): Promise<void>
}

/**
 * Processes on one store, which no server runs. The store and the processes use a clock that the test drives, so a process
 * is alive until the test lets time pass.
 */
export function fleetWorld() {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const { event } = createFactory({ clock })
  const processes: FleetProcess[] = []

  async function start(options: ProcessOptions): Promise<FleetProcess> {
    const { service, version, release, host, pid, fails = false } = options
    const broker = memoryBroker({ clock })
    const consumer = createConsumer({
      ...{ broker, channel: 'orders', clock, name: 'bill', deadLetters: memoryDeadLetters() },
      retry: { attempts: 1 },
      schema: anything,
      async handle() {
        if (fails) throw new TypeError('no total')
      },
    })
    await consumer.start()
    const crm = memorySink()
    const dispatcher = createDispatcher({
      ...{ sinks: { crm }, deadLetters: store.deadLetters, leaveOpen: true, clock },
    })
    let isUp = true
    const member = joinFleet({
      ...{ service, version, release, clock, consumers: [consumer], dispatchers: [dispatcher] },
      store: seenFrom(store, { host, pid }, () => isUp),
      random: seededRandom(pid),
    })
    await clock.advance(0)
    const process: FleetProcess = {
      ...{ id: member.id, consumer, crm },
      async publish(count) {
        await broker.publish(Array.from({ length: count }, () => event({ channel: 'orders' })))
      },
      crash() {
        isUp = false
      },
      leave: () => member.close(),
      async close() {
        await member.close()
        await consumer.close()
        await dispatcher.close()
      },
    }
    processes.push(process)
    return process
  }

  return {
    clock,
    store,
    start,
    async close() {
      for (const process of processes) await process.close()
      await store.close()
    },
  }
}

/** The store as one process sees it: its reports name its own host, and nothing passes after it crashed. */
function seenFrom(store: Store, own: { host: string; pid: number }, isUp: () => boolean): FleetStore {
  const { fleet, commands, deadLetters } = store
  return {
    deadLetters,
    fleet: {
      report: async (report, leaseMs) => {
        if (isUp()) await fleet!.report({ ...report, ...own }, leaseMs)
      },
      leave: async id => {
        if (isUp()) await fleet!.leave(id)
      },
      list: () => fleet!.list(),
      purge: before => fleet!.purge(before),
    },
    commands: {
      send: (sent, ttlMs) => commands!.send(sent, ttlMs),
      claim: async (instance, limit) => (isUp() ? await commands!.claim(instance, limit) : []),
      finish: (id, instance, outcome) => commands!.finish(id, instance, outcome),
      get: request => commands!.get(request),
      list: limit => commands!.list(limit),
      purge: before => commands!.purge(before),
      onCommand: (instance, listener) => commands!.onCommand!(instance, listener),
    },
  }
}
