import { subscribeRules } from '../../../adapter-kit/delivery/subscribe-options.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { requireChannels } from '../../../core/event/channel.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { withoutForeignReplay } from '../../../core/event/replay-headers.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { integer, text, withDefault } from '../../../core/options/rules.ts'
import {
  type Broker,
  type BrokerCapabilities,
  BrokerClosedError,
  type Delivery,
  type SubscribeOptions,
  type Subscription,
  type Undecodable,
} from '../../../ports/broker.ts'
import { type Clock, clockRule } from '../../../ports/clock.ts'
import { Channel } from './channel.ts'
import { MemorySubscription } from './subscription.ts'

/** The default of the option `maxPerChannel`. */
export const DEFAULT_MAX_PER_CHANNEL = 1_000_000

/** Options of `memoryBroker()`. */
export interface MemoryBrokerOptions {
  /** Names the broker in origins and errors ['memory']. */
  readonly name?: string | undefined
  /** Supplies the time and the timers [the system clock]. Replace it in tests. */
  readonly clock?: Clock | undefined
  /**
   * The most events that a channel may hold for its slowest handler, with the letters that the channel keeps [1 000 000].
   */
  readonly maxPerChannel?: number | undefined
}

const rules = {
  name: withDefault(text(), 'memory'),
  clock: clockRule,
  maxPerChannel: withDefault(integer({ min: 1 }), DEFAULT_MAX_PER_CHANNEL),
}

const resolveSubscribe = subscribeRules({ keyOrder: true })

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: true,
  deadLetters: true,
  durable: false,
})

/**
 * A broker in this process, for tests, examples and work that may end with the process. Channels come to be when they
 * are first used.
 *
 * Which events a handler gets: all that are published from its first subscription on, whether someone subscribes at
 * that moment or not. What was published before any handler of the channel existed goes to the first one.
 */
export function memoryBroker(options?: MemoryBrokerOptions): MemoryBroker {
  return new MemoryBroker(resolveOptions('memoryBroker', rules, options))
}

/** The broker that `memoryBroker()` makes. */
export class MemoryBroker implements Broker {
  readonly name: string
  readonly kind = 'memory'
  readonly capabilities = CAPABILITIES
  readonly #clock: Clock
  readonly #maxPerChannel: number
  readonly #channels = new Map<string, Channel>()
  #isClosed = false

  constructor({ name, clock, maxPerChannel }: Resolved<typeof rules>) {
    this.name = name
    this.#clock = clock
    this.#maxPerChannel = maxPerChannel
  }

  /** The letters that no other store has saved. */
  get deadLetters(): readonly DeadLetter[] {
    return [...this.#channels.values()].flatMap(channel => [...channel.letters()])
  }

  /** The number of events that the handler has not finished: ready, open, waiting for a retry or blocked by their key. */
  depth(channel: string, handler: string): number {
    return this.#channels.get(channel)?.depth(handler) ?? 0
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    requireChannels(events)
    for (const event of events) this.#channel(event.channel).add(withoutForeignReplay(event))
  }

  /** Publishes a message that is not an event, as another program could send it. */
  async publishUndecodable(channel: string, message: Undecodable): Promise<void> {
    this.#requireOpen()
    this.#channel(channel).add(message)
  }

  async subscribe(options: SubscribeOptions, deliver: (delivery: Delivery) => void): Promise<Subscription> {
    this.#requireOpen()
    const resolved = resolveSubscribe(options)
    const queue = this.#channel(resolved.channel).queueOf(resolved)
    const subscription = new MemorySubscription(this.name, queue, resolved, deliver)
    queue.join(subscription)
    // Deliveries start two microtasks later. By then the caller has the subscription that it needs for settling.
    void Promise.resolve().then(() => Promise.resolve().then(() => subscription.start()))
    return subscription
  }

  async unblockKey(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#requireOpen()
    for (const queue of this.#channels.get(channel)?.queuesFor(handler) ?? []) queue.unblockKey(eventId)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const channel of this.#channels.values()) {
      for (const queue of channel.queues) {
        await Promise.all(queue.subscriptions.map(subscription => subscription.close()))
        queue.close()
      }
    }
  }

  #channel(name: string): Channel {
    let channel = this.#channels.get(name)
    if (channel === undefined) {
      channel = new Channel(this.name, name, this.#maxPerChannel, this.#clock)
      this.#channels.set(name, channel)
    }
    return channel
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new BrokerClosedError(this.name)
  }
}
