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

  constructor(consumers: readonly Consumer[]) {
    this.#consumers = consumers
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
      `No consumer ${which} runs in this process. Command other processes with POST /api/v1/fleet/commands.`,
    )
  }

  /** The consumers with a breaker. Throws when none has one, because forcing no breaker would look like success. */
  requireBreaker(channel: string, handler: string): readonly LocalConsumer[] {
    const found = this.require(channel, handler).filter(({ consumer }) => consumer.breaker !== undefined)
    if (found.length > 0) return found
    throw new ProblemError('conflict', `The breaker of ${handler} is off. Pause channel ${channel} instead.`)
  }
}

export function isOpen({ breakerState }: ConsumerHealth): boolean {
  return breakerState === 'open' || breakerState === 'forced-open'
}
