import type { Breaker } from '../src/runtime/breaker.ts'
import type { Consumer } from '../src/runtime/consumer/consumer.ts'
import type { Dispatcher } from '../src/runtime/dispatcher/dispatcher.ts'
import { type FleetMembership, joinFleet } from '../src/runtime/fleet/join-fleet.ts'
import type { FleetDispatcher } from '../src/runtime/fleet/report.ts'
import { Chance } from './chance.ts'
import type { FleetFact } from './fleet-facts.ts'
import { fleetStoreClient } from './fleet-store.ts'
import type { Process } from './process.ts'

/** Joins the fleet with the consumers and the dispatcher of a process. */
export function joinWith(
  process: Process,
  service: string,
  consumers: readonly Consumer[],
  dispatcher: Dispatcher | undefined,
): FleetMembership {
  const { seed } = process.world.plan
  const [machine, incarnation] = process.name.split('.') as [string, string]
  const random = new Chance(seed, 2_000 + Number(incarnation) * 10 + machine.charCodeAt(1)).random
  return joinFleet({
    store: fleetStoreClient(process, 'fleet'),
    service,
    consumers: consumers.map(consumer => recordingConsumer(process, consumer)),
    dispatchers: dispatcher === undefined ? [] : [recordingDispatcher(process, dispatcher)],
    clock: process,
    random,
  })
}

type Task = Extract<FleetFact, { readonly what: 'executed' }>['task']

function recordTask(process: Process, handler: string, task: Task): void {
  if (process.isAlive)
    process.world.history.record({
      what: 'executed',
      consumer: `${process.name}/${handler}`,
      handler,
      task,
    })
}

/** The consumer, which also records the calls of commands. */
function recordingConsumer(process: Process, consumer: Consumer): Consumer {
  const { handler } = consumer.health()
  const breaker = consumer.breaker && recordingBreaker(process, handler, consumer.breaker)
  const own: Partial<Consumer> = {
    pause: () => {
      recordTask(process, handler, 'pause')
      consumer.pause()
    },
    resume: () => {
      recordTask(process, handler, 'resume')
      consumer.resume()
    },
    ...(breaker && { breaker }),
  }
  return onTopOf(consumer, own)
}

function recordingBreaker(process: Process, name: string, breaker: Breaker): Breaker {
  return onTopOf(breaker, {
    force: (to, by) => {
      recordTask(process, name, 'breaker')
      breaker.force(to, by)
    },
  })
}

function recordingDispatcher(process: Process, dispatcher: Dispatcher): FleetDispatcher {
  const breakers = new Map<string, Breaker | undefined>()
  return {
    get isClosed() {
      return dispatcher.isClosed
    },
    health: () => dispatcher.health(),
    breaker: sink => {
      const breaker = dispatcher.breaker(sink)
      if (!breakers.has(sink)) breakers.set(sink, breaker && recordingBreaker(process, sink, breaker))
      return breakers.get(sink)
    },
    resend: letter => {
      const { event, handler: sink, replayId } = letter
      const { name: by, isAlive, world } = process
      if (isAlive) world.history.record({ what: 'resent', event: event.id, sink, by, replayId })
      return dispatcher.resend(letter)
    },
  }
}

/** The object with some of its properties replaced. Its own methods keep their `this`. */
function onTopOf<T extends object>(object: T, own: Partial<T>): T {
  return new Proxy(object, {
    get: (target, name) => {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
