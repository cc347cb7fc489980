import { BrokerWork } from '../../../adapter-kit/delivery/broker-work.ts'
import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { subscribeRules } from '../../../adapter-kit/delivery/subscribe-options.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf } from '../../../core/event/replay-headers.ts'
import type {
  Broker,
  BrokerCapabilities,
  Delivery,
  QueueDepth,
  SubscribeOptions,
  Subscription,
  SubscriptionStatus,
} from '../../../ports/broker.ts'
import { Link } from '../connection/link.ts'
import { Publisher } from '../connection/publisher.ts'
import { ExchangeMissingError, UnroutableError } from '../errors.ts'
import { type RabbitmqOptions, type RabbitmqSettings, type Route, resolveRabbitmq } from '../options.ts'
import type { SubscriptionContext } from './consume/context.ts'
import { LostDeliveries } from './consume/delivery.ts'
import { Settler } from './consume/settler.ts'
import { RabbitmqSubscription } from './consume/subscription.ts'
import { OrderedSubscription } from './ordered/ordered-subscription.ts'
import { depthsOf } from './topology/declare.ts'
import { queueName, unblockExchange } from './topology/names.ts'
import { letterQueues } from './topology/plan.ts'
import { Topology } from './topology/topology.ts'
import { encodeEvent, type Outgoing } from './wire/event-codec.ts'
import { OWN } from './wire/headers.ts'

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: true,
  deadLetters: true,
  durable: true,
})

const checkSubscribe = subscribeRules({ maxHandlerLength: 100, keyOrder: true })

type Message = Outgoing & { readonly event: LazaretEvent }

/** A broker on RabbitMQ. Nothing is connected until it is used. */
export function rabbitmq(options: RabbitmqOptions): RabbitmqBroker {
  return new RabbitmqBroker(resolveRabbitmq(options))
}

/**
 * Publishing and consuming have a connection each: a server that is short of memory stops reading from those who
 * publish, and acknowledgements must not wait behind that.
 */
export class RabbitmqBroker implements Broker {
  readonly name: string
  readonly kind = 'rabbitmq'
  readonly capabilities = CAPABILITIES
  readonly #settings: RabbitmqSettings
  readonly #publishing: Link
  readonly #consuming: Link
  readonly #publisher: Publisher
  readonly #topology: Topology
  readonly #settler: Settler
  readonly #lost = new LostDeliveries()
  readonly #work: BrokerWork

  constructor(settings: RabbitmqSettings) {
    this.name = settings.name
    this.#settings = settings
    this.#work = new BrokerWork(settings.name, settings.clock)
    this.#publishing = new Link(settings, 'publishing')
    this.#consuming = new Link(settings, 'consuming')
    this.#publisher = new Publisher(this.#publishing, settings)
    this.#topology = new Topology(this.#publishing, settings)
    this.#settler = new Settler(this.#publisher, this.#topology, settings)
  }

  publish(events: readonly LazaretEvent[]): Promise<void> {
    return this.#work.publish(events, own => this.#publish(own))
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    onStatus?: (status: SubscriptionStatus) => void,
  ): Promise<Subscription> {
    this.#work.requireOpen()
    const { channel, handler, prefetch, ordering } = checkSubscribe(options)
    const queue = queueName(channel, handler)
    await this.#topology.queue(channel, handler)
    const context: SubscriptionContext = {
      settings: this.#settings,
      source: { broker: this.name, channel, handler, queue, stalls: new StallReporter(onStatus) },
      prefetch,
      deliver,
      link: this.#consuming,
      topology: this.#topology,
      settler: this.#settler,
      lost: this.#lost,
      forget: () => this.#work.forget(subscription),
    }
    const subscription =
      ordering === 'by-key' ? new OrderedSubscription(context) : new RabbitmqSubscription(context)
    return await this.#work.subscribe(subscription)
  }

  /** Sent to the consumers that keep the order in this channel; without one there is no key to unblock. */
  async unblockKey(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#work.requireOpen()
    await this.#topology.unblockExchange(channel)
    const one = handler === undefined ? {} : { [OWN.unblockQueue]: queueName(channel, handler) }
    await this.#publisher.send([
      {
        route: { exchange: unblockExchange(channel), routingKey: '' },
        content: Buffer.alloc(0),
        properties: { headers: { [OWN.unblockKey]: eventId, ...one }, deliveryMode: 2 },
      },
    ])
  }

  async deadLetterDepths(channel: string, handler: string): Promise<readonly QueueDepth[]> {
    this.#work.requireOpen()
    const connection = await this.#consuming.get(this.#settings.connectTimeoutMs)
    return await depthsOf(
      connection,
      letterQueues(this.#settings.deadLetterQueue(queueName(channel, handler))),
    )
  }

  close(): Promise<void> {
    return this.#work.close(() => Promise.all([this.#consuming.close(), this.#publishing.close()]))
  }

  async #publish(events: readonly LazaretEvent[]): Promise<void> {
    const messages = events.map(event => this.#messageOf(event))
    for (const { route } of messages) {
      const declared = this.#declared(route)
      if (declared !== undefined) await declared
    }
    let back: readonly Outgoing[]
    try {
      back = await this.#publisher.send(messages)
    } catch (error) {
      back = await this.#restoreAndSend(messages, error)
    }
    if (back.length > 0) await this.#declareQueuesAndSend(back as readonly Message[])
  }

  #messageOf(event: LazaretEvent): Message {
    const route = this.#routeOf(event)
    const { content, properties } = encodeEvent(event, route.exchange)
    return { content, properties, route, event }
  }

  /** A replay is for the queue that failed: the other handlers have handled the event already. */
  #routeOf(event: LazaretEvent): Route {
    const handler = replayOf(event)?.handler
    if (handler !== undefined) return { exchange: '', routingKey: queueName(event.channel, handler) }
    return this.#settings.route?.(event) ?? { exchange: event.channel, routingKey: event.type }
  }

  /** Returns undefined if there is nothing to wait for. */
  #declared({ exchange }: Route): Promise<void> | undefined {
    if (this.#settings.route !== undefined || this.#settings.declare !== 'all' || exchange === '')
      return undefined
    return this.#topology.exchange(exchange)
  }

  /** If a person deleted the exchange, it is declared again with the known queues, and the messages are sent again. */
  async #restoreAndSend(messages: readonly Message[], error: unknown): Promise<readonly Outgoing[]> {
    const { declare, route } = this.#settings
    if (!(error instanceof ExchangeMissingError) || declare !== 'all' || route !== undefined) throw error
    await this.#topology.restore()
    for (const { route } of messages) await this.#declared(route)
    return await this.#publisher.send(messages)
  }

  /**
   * Creates the queue of a channel without subscribers, so that its events wait for the first one. A replay for an absent
   * handler waits in the queue of that handler.
   */
  async #declareQueuesAndSend(messages: readonly Message[]): Promise<void> {
    const [first] = messages
    const { route, declare } = this.#settings
    if (declare !== 'all' || route !== undefined) throw unroutable(first!)
    await this.#topology.restore()
    for (const { event } of messages) {
      const handler = replayOf(event)?.handler
      await (handler === undefined
        ? this.#topology.queue(event.channel, event.channel)
        : this.#topology.unboundQueue(event.channel, handler))
    }
    const [back] = await this.#publisher.send(messages)
    if (back !== undefined) throw unroutable(back)
  }
}

function unroutable({ route }: Outgoing): UnroutableError {
  return new UnroutableError(route.exchange, route.routingKey)
}
