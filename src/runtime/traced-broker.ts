import { resolveOptions } from '../core/options/resolve.ts'
import type { Broker, BrokerCapabilities } from '../ports/broker.ts'
import { publishInSpan, type Tracing, tracingRule } from '../ports/tracing.ts'
import { port } from './option-rules.ts'
import { registerWrapper } from './share.ts'

const rules = { broker: port<Broker>('a broker', 'publish', 'subscribe', 'close'), tracing: tracingRule }

/**
 * The same broker, whose `publish` puts the publisher's trace into the events. It shares the identity of the original:
 * consumers may use either, and the last user closes it.
 */
export function tracedBroker(broker: Broker, tracing: Tracing | undefined): Broker {
  const given = resolveOptions('tracedBroker', rules, { broker, tracing })
  if (given.tracing === undefined) return broker
  return registerWrapper(new TracedBroker(broker, given.tracing), broker)
}

class TracedBroker implements Broker {
  readonly #broker: Broker
  readonly #tracing: Tracing
  /** These are there only where the broker has them, because others look whether they are. */
  readonly depth?: NonNullable<Broker['depth']>
  readonly deadLetterDepths?: NonNullable<Broker['deadLetterDepths']>
  readonly retryPreset?: NonNullable<Broker['retryPreset']>
  readonly kind?: NonNullable<Broker['kind']>

  constructor(broker: Broker, tracing: Tracing) {
    this.#broker = broker
    this.#tracing = tracing
    if (broker.kind !== undefined) this.kind = broker.kind
    if (broker.retryPreset !== undefined) this.retryPreset = broker.retryPreset
    if (broker.depth !== undefined) this.depth = broker.depth.bind(broker)
    if (broker.deadLetterDepths !== undefined) this.deadLetterDepths = broker.deadLetterDepths.bind(broker)
  }

  get name(): string {
    return this.#broker.name
  }

  get capabilities(): BrokerCapabilities {
    return this.#broker.capabilities
  }

  publish(events: Parameters<Broker['publish']>[0]): Promise<void> {
    const handOver: Broker['publish'] = followed => this.#broker.publish(followed)
    return publishInSpan(this.#tracing, this.name, events, handOver)
  }

  subscribe(...how: Parameters<Broker['subscribe']>): ReturnType<Broker['subscribe']> {
    return this.#broker.subscribe(...how)
  }

  unblockKey(...which: Parameters<Broker['unblockKey']>): Promise<void> {
    return this.#broker.unblockKey(...which)
  }

  close(): Promise<void> {
    return this.#broker.close()
  }
}
