import type { Consumer } from '../../runtime/consumer/consumer.ts'
import type { ConsumerHealth } from '../../runtime/consumer/health.ts'

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
}
