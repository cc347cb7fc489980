import type { Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { redirectedFrom } from '../core/event/replay-headers.ts'
import { LazaretError } from '../core/failure/errors.ts'
import type { Broker } from '../ports/broker.ts'
import type { Collector, ReplayRoute } from '../ports/collector.ts'
import { type ReplayTarget, routeThrough } from './target.ts'

const UNROUTABLE = 'LAZARET_BROKER_UNROUTABLE'

/** The part of a broker that takes replays. */
export type ReplayBroker = Pick<Broker, 'name' | 'kind' | 'publish'>

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

/** Two brokers of different kinds can have the same name. Older letters do not say the kind. */
export function isFrom(
  { broker, brokerKind }: Origin,
  { name, kind }: Pick<Broker, 'name' | 'kind'>,
): boolean {
  return broker === name && (brokerKind === undefined || kind === undefined || brokerKind === kind)
}

function areRedirected(events: readonly LazaretEvent[]): boolean {
  return events.some(event => redirectedFrom(event) !== undefined)
}

/** Explains to the person who plans the replay why there is no route. `own` is the broker of the store, if it has one. */
export function noRoute(
  { broker, brokerKind, collectedFrom }: Origin,
  own?: string,
): Extract<ReplayRoute, { readonly kind: 'none' }> {
  const redirect = own === undefined ? '' : `, or send it to a channel of '${own}' with --to CHANNEL`
  if (broker === undefined)
    return {
      kind: 'none',
      reason: `it did not come from a broker; only the process whose sink or function failed can send it again${redirect}`,
    }
  if (collectedFrom !== undefined)
    return {
      kind: 'none',
      reason: `it came from broker '${broker}', found in '${collectedFrom}', and there is no route to '${broker}'; configure a collector named '${broker}'${redirect}`,
    }
  return {
    kind: 'none',
    reason: `it came from broker '${broker}', and no ${brokerKind === undefined ? '' : `${brokerKind} `}broker named '${broker}' is configured; add it to brokers in lazaret.yaml${redirect}`,
  }
}

/** The letter must not go to another broker: no consumer would read it there, and the replay would wait forever. */
class NoRouteError extends LazaretError {
  override readonly name = 'NoRouteError'

  constructor(reason: string) {
    super(`the letter cannot be sent from here: ${reason}`, { code: UNROUTABLE, retryable: false })
  }
}

/** Whether the event was certainly not published. */
export function isUnroutable(error: unknown): error is LazaretError {
  return error instanceof LazaretError && error.code === UNROUTABLE
}
