import { BrokerWork } from '../../../adapter-kit/delivery/broker-work.ts'
import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { subscribeRules } from '../../../adapter-kit/delivery/subscribe-options.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import type {
  Broker,
  BrokerCapabilities,
  Delivery,
  SubscribeOptions,
  Subscription,
  SubscriptionStatus,
} from '../../../ports/broker.ts'
import { RedisConnection } from '../connection/connection.ts'
import { RedisDeadLetters } from '../letters/dead-letters.ts'
import { LetterRecords } from '../letters/letter-records.ts'
import { type RedisStreamsOptions, type RedisStreamsSettings, resolveStreams } from '../options.ts'
import { countUnfinished } from './depth.ts'
import { handlerKeys } from './keys.ts'
import { publish } from './publishing.ts'
import { StreamSubscription } from './subscription.ts'

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: false,
  deadLetters: true,
  durable: true,
})

const resolveSubscribe = subscribeRules({ maxHandlerLength: 200, keyOrder: false })

/** A broker on Redis Streams. Nothing is connected until it is used. */
export function redisStreams(options: RedisStreamsOptions): RedisStreams {
  return new RedisStreams(resolveStreams('redisStreams', options))
}

/**
 * The broker on Redis Streams. A channel is a stream, a handler is a consumer group, and every subscription is a consumer
 * with its own name. Repeated events (retries, replays, released ones) are in a stream of the handler, so that other
 * handlers do not get them.
 */
export class RedisStreams implements Broker {
  readonly name: string
  readonly kind = 'redis'
  readonly capabilities = CAPABILITIES
  readonly #settings: RedisStreamsSettings
  readonly #letters: RedisDeadLetters
  readonly #connection: RedisConnection
  readonly #newName: IdSource
  readonly #work: BrokerWork

  constructor(settings: RedisStreamsSettings) {
    this.name = settings.name
    this.#settings = settings
    this.#work = new BrokerWork(settings.name, settings.clock)
    this.#connection = RedisConnection.of(settings, 'streams')
    this.#letters = new RedisDeadLetters(settings, new LetterRecords(this.#connection, settings))
    this.#newName = createIdSource(settings.random)
  }

  publish(events: readonly LazaretEvent[]): Promise<void> {
    return this.#work.publish(events, own => publish(this.#connection, this.#settings, own))
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    onStatus?: (status: SubscriptionStatus) => void,
  ): Promise<Subscription> {
    this.#work.requireOpen()
    const { channel, handler, prefetch } = resolveSubscribe(options)
    const settings = this.#settings
    const parts = {
      connection: this.#connection,
      keys: handlerKeys(settings.prefix, channel, handler),
      settings,
      prefetch,
      letters: this.#letters,
      stalls: new StallReporter(onStatus),
      newName: () => this.#newName(settings.clock.now()),
      onClosed: (closed: StreamSubscription) => this.#work.forget(closed),
    }
    return await this.#work.subscribe(new StreamSubscription(parts, deliver))
  }

  /** Redis Streams keep no order by key, so no event waits for a dead one. */
  async unblockKey(): Promise<void> {
    this.#work.requireOpen()
  }

  /** The number of events that the handler has not finished: unread, open, waiting for a retry. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#work.requireOpen()
    return await countUnfinished(this.#connection, handlerKeys(this.#settings.prefix, channel, handler))
  }

  close(): Promise<void> {
    return this.#work.close(async () => {
      await this.#letters.close()
      await this.#connection.close()
    })
  }
}
