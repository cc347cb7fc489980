import type { Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { redirectedFrom } from '../core/event/replay-headers.ts'
import { LazaretError } from '../core/failure/errors.ts'
import { isFrom, noRoute } from '../operations/origin-broker.ts'
import type { Broker } from '../ports/broker.ts'
import type { Collector } from '../ports/collector.ts'
import { type ReplayTarget, routeThrough } from './target.ts'

/** The part of a broker that takes replays, and unblocks the keys of discarded letters. */
export type ReplayBroker = Pick<Broker, 'name' | 'kind' | 'publish'> & Partial<Pick<Broker, 'unblockKey'>>

/**
 * Routes a letter to the broker or the collector that its origin names, and every other letter to the replay target of the
 * store. A collected letter goes to its collector, and any other letter rather to its broker.
 */
export function routeReplays(
  collectors: readonly Collector[],
  otherwise: ReplayTarget | undefined,
  brokers: readonly ReplayBroker[] = [],
): ReplayTarget | undefined {
  if (collectors.length === 0 && brokers.length === 0 && otherwise === undefined) return undefined
  const brokerOf = ({ collectedFrom, ...origin }: Origin) =>
    collectedFrom === undefined ? brokers.find(broker => isFrom(origin, broker)) : undefined
  const collectorOf = ({ broker }: Origin) => collectors.find(({ name }) => name === broker)
  // Only its collector knows the queue of a collected message in another broker.
  const otherwiseOf = ({ collectedFrom }: Origin, isRedirected: boolean) =>
    collectedFrom === undefined || isRedirected ? otherwise : undefined
  return {
    routeOf(letter, to) {
      const { origin } = letter
      const broker = brokerOf(origin)
      if (broker !== undefined) return { kind: 'durable', via: broker.name }
      const collector = collectorOf(origin)
      if (collector !== undefined)
        return collector.routeOf?.(letter, to) ?? { kind: 'durable', via: collector.name }
      const target = otherwiseOf(origin, to !== undefined)
      return target === undefined ? noRoute(origin) : routeThrough(target, letter, to)
    },
    async send(events, origin, hold) {
      const broker = brokerOf(origin)
      if (broker !== undefined) return broker.publish(events)
      const target = collectorOf(origin) ?? otherwiseOf(origin, areRedirected(events))
      if (target === undefined) throw new NoRouteError(noRoute(origin).reason)
      await target.send(events, origin, hold)
    },
  }
}

/**
 * The store's broker gets the events that came from it, and events that go to another channel. Nobody would read the
 * event of another broker there, and the letter would wait for its outcome without end.
 */
export function replayToBroker(broker: ReplayBroker, others: ReplayTarget | undefined): ReplayTarget {
  return {
    routeOf(letter, to) {
      if (isFrom(letter.origin, broker) || to !== undefined) return { kind: 'durable', via: broker.name }
      return others === undefined ? noRoute(letter.origin, broker.name) : routeThrough(others, letter, to)
    },
    async send(events, origin, hold) {
      if (isFrom(origin, broker) || areRedirected(events)) await broker.publish(events)
      else if (others === undefined) throw new NoRouteError(noRoute(origin, broker.name).reason)
      else await others.send(events, origin, hold)
    },
  }
}

function areRedirected(events: readonly LazaretEvent[]): boolean {
  return events.some(event => redirectedFrom(event) !== undefined)
}

/** The letter must not go to another broker: no consumer would read it there, and the replay would wait forever. */
class NoRouteError extends LazaretError {
  override readonly name = 'NoRouteError'

  constructor(reason: string) {
    super(`the letter cannot be sent from here: ${reason}`, {
      code: 'LAZARET_BROKER_UNROUTABLE',
      retryable: false,
    })
  }
}
