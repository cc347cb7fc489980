import type { Origin } from '../core/dead-letter/letter.ts'
import { redirectedFrom } from '../core/event/replay-headers.ts'
import { LazaretError } from '../core/failure/errors.ts'
import type { Broker } from '../ports/broker.ts'
import type { Collector } from '../ports/collector.ts'
import type { ReplayTarget } from './runner.ts'

/** What was collected goes back through its collector; everything else goes where replays of this store go. */
export function waysBack(
  collectors: readonly Collector[],
  otherwise: ReplayTarget | undefined,
): ReplayTarget | undefined {
  if (collectors.length === 0 && otherwise === undefined) return undefined
  return {
    async send(events, origin) {
      const collector = collectors.find(({ name }) => name === origin.broker)
      if (collector !== undefined) await collector.send(events, origin)
      else if (otherwise === undefined || origin['collectedFrom'] !== undefined)
        throw new NoWayBackError(origin)
      else await otherwise.send(events, origin)
    },
  }
}

/** Into the broker, except for what came from none and has another way: that goes there, unless it shall go to a channel. */
export function toBroker(broker: Pick<Broker, 'publish'>, ofNone: ReplayTarget | undefined): ReplayTarget {
  return {
    async send(events, origin) {
      const isRedirected = events.some(({ headers }) => redirectedFrom(headers) !== undefined)
      if (ofNone === undefined || origin.broker !== undefined || isRedirected) await broker.publish(events)
      else await ofNone.send(events, origin)
    },
  }
}

/** To another broker it must not go: nobody would read it there, and the replay would wait for ever. */
export class NoWayBackError extends LazaretError {
  override readonly name = 'NoWayBackError'

  constructor({ broker = 'unknown', collectedFrom }: Origin) {
    const from = collectedFrom === undefined ? '' : `, found in '${collectedFrom}'`
    super(
      `letters of broker '${broker}'${from}: nothing here can send them; configure a collector named '${broker}'`,
      { code: 'LAZARET_BROKER_UNROUTABLE', retryable: false },
    )
  }
}
