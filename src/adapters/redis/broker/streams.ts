import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, oneOf, text } from '../../../core/options/rules.ts'
import {
  type Broker,
  type BrokerCapabilities,
  BrokerClosedError,
  type Delivery,
  type SubscribeOptions,
  type Subscription,
  type SubscriptionNews,
} from '../../../ports/broker.ts'
import { nextTurn, within } from '../../../ports/clock.ts'
import { RedisConnection } from '../connection/connection.ts'
import { run } from '../connection/script.ts'
import { keysOf } from '../keys.ts'
import { RedisDeadLetters } from '../letters/dead-letters.ts'
import { Desk } from '../letters/letter-records.ts'
import { handlerPlaces } from './keys.ts'
import { type RedisStreamsOptions, type RedisStreamsSettings, resolveStreams } from './options.ts'
import { publish } from './publishing.ts'
import { DEPTH } from './scripts/looking.ts'
import { StreamSubscription } from './subscription.ts'

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: false,
  deadLetters: true,
  durable: true,
})

const subscribeRules = {
  channel: text({ maxLength: 120 }),
  handler: text({ maxLength: 200 }),
  prefetch: integer({ min: 1 }),
  ordering: oneOf('none'),
}
/** How long closing waits for what is being published. */
const CLOSE_MS = 5_000

/** A broker on Redis Streams. Nothing is connected until it is used. */
export function redisStreams(options: RedisStreamsOptions): RedisStreams {
  return new RedisStreams(resolveStreams('redisStreams', options))
}

/**
 * A channel is a stream, a handler is a group of it, and every subscription is a consumer with a name of its own. What
 * comes again (retries, replays, what was given back) lies in a stream of the handler's, so that the others do not get it.
 */
export class RedisStreams implements Broker {
  readonly name: string
  readonly capabilities = CAPABILITIES
  readonly #settings: RedisStreamsSettings
  readonly #letters: RedisDeadLetters
  readonly #on: RedisConnection
  readonly #newName: IdSource
  readonly #subscriptions = new Set<StreamSubscription>()
  readonly #publishing = new Set<Promise<void>>()
  #closing: Promise<void> | undefined

  constructor(settings: RedisStreamsSettings) {
    const { name, prefix, codec, maxLetters, retentionMs, expireUndecidedAfterMs } = settings
    this.name = name
    this.#settings = settings
    this.#on = RedisConnection.of(settings, 'streams')
    const desk = new Desk(this.#on, keysOf(prefix), codec.letters, maxLetters)
    this.#letters = new RedisDeadLetters({
      name,
      desk,
      retention: { retentionMs, expireUndecidedAfterMs },
      leave: async () => {},
    })
    this.#newName = createIdSource(settings.random)
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    const publishing = publish(this.#on, this.#settings, events)
    this.#publishing.add(publishing)
    try {
      await publishing
    } finally {
      this.#publishing.delete(publishing)
    }
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    tell?: (news: SubscriptionNews) => void,
  ): Promise<Subscription> {
    this.#requireOpen()
    const { channel, handler, prefetch } = resolveOptions('subscribe', subscribeRules, options)
    const settings = this.#settings
    const parts = {
      settings,
      places: handlerPlaces(settings.prefix, channel, handler),
      prefetch,
      on: this.#on,
      letters: this.#letters,
      stalls: new StallReporter(tell),
      newName: () => this.#newName(settings.clock.now()),
      left: (subscription: StreamSubscription) => this.#subscriptions.delete(subscription),
    }
    const subscription = new StreamSubscription(parts, deliver)
    this.#subscriptions.add(subscription)
    try {
      await subscription.enter()
      this.#requireOpen()
    } catch (error) {
      await subscription.close()
      throw error
    }
    // By the next turn the caller has what this returns; a delivery before that could not be settled.
    void nextTurn().then(() => subscription.start())
    return subscription
  }

  /** There is no order of keys here, so that nothing waits for a dead one. */
  async letGo(): Promise<void> {
    this.#requireOpen()
  }

  /** How many events the handler has not finished with: unread, open, waiting for a retry. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#requireOpen()
    const { events, own, waiting } = handlerPlaces(this.#settings.prefix, channel, handler)
    return await run(this.#on, DEPTH, [events, own, waiting], [handler], { again: true })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all(Array.from(this.#subscriptions, subscription => subscription.close()))
    await within(this.#settings.clock, CLOSE_MS, Promise.allSettled(this.#publishing))
    await this.#letters.close()
    await this.#on.close()
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new BrokerClosedError(this.name)
  }
}
