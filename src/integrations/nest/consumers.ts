import { OptionsError } from '../../core/options/faults.ts'
import type { Broker } from '../../ports/broker.ts'
import { ledgerName } from '../../ports/ledger.ts'
import { type Consumer, createConsumer } from '../../runtime/consumer/consumer.ts'
import type { ConsumerOptions } from '../../runtime/consumer/consumer-options.ts'
import type { ConsumerHealth } from '../../runtime/consumer/health.ts'
import type { NestSettings } from './options.ts'

/** Options of one consumer of a Nest application. The module gives the options that are left out. */
export interface NestConsumerOptions<P = unknown> extends Omit<ConsumerOptions<P>, 'broker' | 'leaveOpen'> {
  /** Delivers the events [the broker of the module]. The code that created another broker closes it. */
  readonly broker?: Broker | undefined
}

/**
 * The consumers of the application: those of `@Consume` and of `provideConsumer`. Inject this class to pause one, or to
 * read its health.
 */
export class LazaretConsumers {
  readonly #settings: NestSettings
  readonly #byName = new Map<string, Consumer>()

  constructor(settings: NestSettings) {
    this.#settings = settings
  }

  /** Makes a consumer that starts and drains with the application. */
  create<P>(options: NestConsumerOptions<P>): Consumer {
    const { broker, deadLetters, consumers } = this.#settings
    const { channel, name = channel } = options
    const consumer = createConsumer<P>({
      ...consumers,
      deadLetters,
      ...options,
      // The fault of a consumer without a broker names the option.
      broker: (options.broker ?? broker)!,
      leaveOpen: true,
    })
    const key = ledgerName(channel, name)
    if (this.#byName.has(key)) throw sameName(channel, name)
    this.#byName.set(key, consumer)
    return consumer
  }

  /** The consumer of a channel and name [the channel's name]. Throws if there is none. */
  get(channel: string, name: string = channel): Consumer {
    const consumer = this.#byName.get(ledgerName(channel, name))
    if (consumer !== undefined) return consumer
    const known = [...this.#byName.keys()].join(', ') || 'none'
    throw new OptionsError('LazaretConsumers', [
      { path: 'get', received: `${channel}, ${name}`, remedy: `give one of the consumers: ${known}` },
    ])
  }

  all(): readonly Consumer[] {
    return [...this.#byName.values()]
  }

  health(): readonly ConsumerHealth[] {
    return this.all().map(consumer => consumer.health())
  }
}

function sameName(channel: string, name: string): OptionsError {
  const remedy = `give each consumer of channel '${channel}' a name of its own, or they share its events`
  return new OptionsError('LazaretModule', [{ path: 'Consume.name', received: `'${name}' twice`, remedy }])
}
