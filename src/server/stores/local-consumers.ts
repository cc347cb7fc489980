import type { Clock } from '../../ports/clock.ts'
import type { Consumer } from '../../runtime/consumer/consumer.ts'
import type { ConsumerHealth } from '../../runtime/consumer/health.ts'
import { ProblemError } from '../problem.ts'

export interface LocalConsumer {
  readonly consumer: Consumer
  readonly health: ConsumerHealth
}

/** The consumers of this process. The server can control only these. */
export class LocalConsumers {
  readonly #consumers: readonly Consumer[]
  readonly #clock: Clock

  constructor(consumers: readonly Consumer[], clock: Clock) {
    this.#consumers = consumers
    this.#clock = clock
  }

  all(): readonly LocalConsumer[] {
    return this.#consumers.map(consumer => ({ consumer, health: consumer.health() }))
  }

  of(channel: string, handler?: string): readonly LocalConsumer[] {
    return this.all().filter(
      ({ health }) => health.channel === channel && (handler === undefined || health.handler === handler),
    )
  }

  /** Like `of`, but throws a problem when no consumer matches. */
  require(channel: string, handler?: string): readonly LocalConsumer[] {
    const found = this.of(channel, handler)
    if (found.length > 0) return found
    const which = handler === undefined ? `of channel ${channel}` : `${handler} of channel ${channel}`
    throw new ProblemError(
      'not-found',
      `No consumer ${which} runs in this process. Send this request to the server of the service that runs it.`,
    )
  }

  /** The consumers with a breaker. Throws when none has one, because forcing no breaker would look like success. */
  requireBreaker(channel: string, handler: string): readonly LocalConsumer[] {
    const found = this.require(channel, handler).filter(({ consumer }) => consumer.breaker !== undefined)
    if (found.length > 0) return found
    throw new ProblemError('conflict', `The breaker of ${handler} is off. Pause channel ${channel} instead.`)
  }

  /** Why the consumers of a channel would not handle an event now. A breaker that admits a probe is not a fault. */
  downstreamFault(channel: string): string | undefined {
    const now = this.#clock.now()
    for (const { consumer, health } of this.of(channel)) {
      if (consumer.breaker?.wouldAdmit(now) === false) return `the breaker of ${health.handler} is open`
      if (health.paused.includes('manual')) return `the consumer ${health.handler} is paused manually`
    }
    return undefined
  }
}

export function isOpen({ breakerState }: ConsumerHealth): boolean {
  return breakerState === 'open' || breakerState === 'forced-open'
}
