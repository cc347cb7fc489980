import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf, withoutForeignReplay } from '../../../core/event/replay-headers.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, oneOf, text } from '../../../core/options/rules.ts'
import {
  type Broker,
  type BrokerCapabilities,
  BrokerClosedError,
  type Delivery,
  type QueueDepth,
  type SubscribeOptions,
  type Subscription,
  type SubscriptionNews,
} from '../../../ports/broker.ts'
import { within } from '../../../ports/clock.ts'
import type { Outgoing } from '../connection/batch.ts'
import { Link } from '../connection/link.ts'
import { Publisher } from '../connection/publisher.ts'
import { UnderWay } from '../connection/under-way.ts'
import { CLOSE_MS } from '../connection/waiting.ts'
import { ExchangeMissingError, TopologyError, UnroutableError } from '../errors.ts'
import { type RabbitmqOptions, type RabbitmqSettings, type Route, resolveRabbitmq } from '../options.ts'
import type { Place } from './consume/delivery.ts'
import { Intake } from './consume/intake.ts'
import { LostDeliveries } from './consume/lost.ts'
import { Settler } from './consume/settler.ts'
import { RabbitmqSubscription } from './consume/subscription.ts'
import { Tap, type TapListener } from './consume/tap.ts'
import { Holder } from './ordered/holder.ts'
import { Keeper } from './ordered/keeper.ts'
import { LineKeeping } from './ordered/line-keeping.ts'
import { OrderedSubscription } from './ordered/ordered-subscription.ts'
import { depthsOf } from './topology/declare.ts'
import { letGoExchange, queueName, suspectsQueue } from './topology/names.ts'
import { letterQueues } from './topology/plan.ts'
import { Topology } from './topology/topology.ts'
import { encodeEvent } from './wire/encode.ts'
import { OWN } from './wire/headers.ts'

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: true,
  deadLetters: true,
  durable: true,
})

const NOT_FOUND = 404
/** Events that may wait behind others of their key before the queue stands still. */
const ORDER_WINDOW = 1_000

const subscribeRules = {
  channel: text({ maxLength: 120 }),
  handler: text({ maxLength: 100 }),
  prefetch: integer({ min: 1 }),
  ordering: oneOf('none', 'by-key'),
}

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
  readonly capabilities = CAPABILITIES
  readonly #settings: RabbitmqSettings
  readonly #publishing: Link
  readonly #consuming: Link
  readonly #publisher: Publisher
  readonly #topology: Topology
  readonly #settler: Settler
  readonly #lost = new LostDeliveries()
  readonly #subscriptions = new Set<RabbitmqSubscription | OrderedSubscription>()
  readonly #publishes = new UnderWay()
  #isClosed = false

  constructor(settings: RabbitmqSettings) {
    this.name = settings.name
    this.#settings = settings
    this.#publishing = new Link(settings, 'publishing')
    this.#consuming = new Link(settings, 'consuming')
    this.#publisher = new Publisher(this.#publishing, settings)
    this.#topology = new Topology(this.#publishing, settings)
    this.#settler = new Settler(this.#publisher, this.#topology, settings)
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    const messages = events.map(event => this.#messageOf(withoutForeignReplay(event)))
    this.#publishes.begin()
    try {
      for (const { route } of messages) {
        const declared = this.#declared(route)
        if (declared !== undefined) await declared
      }
      const back = await this.#send(messages)
      if (back.length > 0) await this.#sendWhereNobodyIs(back as readonly Message[])
    } finally {
      this.#publishes.end()
    }
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    tell?: (news: SubscriptionNews) => void,
  ): Promise<Subscription> {
    this.#requireOpen()
    const wanted = resolveOptions('subscribe', subscribeRules, options)
    const { channel, handler, prefetch } = wanted
    const queue = queueName(channel, handler)
    await this.#topology.queue(channel, handler)
    const stalls = new StallReporter(tell)
    const place = { broker: this.name, channel, queue, stalls }
    if (wanted.ordering === 'by-key') return await this.#subscribeInOrder(place, wanted, deliver)
    const intake = new Intake(this.#settings, place, prefetch, deliver, this.#settler, this.#lost)
    const listener: TapListener = {
      receive: (session, message, isSuspect) => intake.receive(session, message, isSuspect),
      suspectsWait: () => intake.suspectsWait(),
      lose: session => intake.lose(session),
      turned: () => intake.turned(),
      restore: () => this.#topology.restore(),
      bind: () => this.#topology.bind(channel, handler),
    }
    const tap = new Tap(this.#settings, this.#consuming, queue, prefetch, listener, stalls)
    try {
      await tap.open()
    } catch (error) {
      await tap.close()
      throw (error as { readonly code?: unknown }).code === NOT_FOUND ? notThere(queue, error) : error
    }
    const subscription = new RabbitmqSubscription(this.#settings, intake, this.#settler, queue, ended =>
      this.#subscriptions.delete(ended),
    )
    this.#subscriptions.add(subscription)
    intake.start(tap)
    if (this.#isClosed) await subscription.close()
    this.#requireOpen()
    return subscription
  }

  /** Told to whoever keeps an order in this channel; if nobody does, there is nothing to let go. */
  async letGo(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#requireOpen()
    await this.#topology.letGo(channel)
    const one = handler === undefined ? {} : { [OWN.letGoQueue]: queueName(channel, handler) }
    await this.#publisher.send([
      {
        route: { exchange: letGoExchange(channel), routingKey: '' },
        content: Buffer.alloc(0),
        properties: { headers: { [OWN.letGo]: eventId, ...one }, deliveryMode: 2 },
      },
    ])
  }

  async deadLetterDepths(channel: string, handler: string): Promise<readonly QueueDepth[]> {
    this.#requireOpen()
    const connection = await this.#consuming.get(this.#settings.connectTimeoutMs)
    return await depthsOf(connection, letterQueues(queueName(channel, handler)))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#subscriptions].map(subscription => subscription.close()))
    await within(this.#settings.clock, CLOSE_MS, this.#publishes.none())
    await Promise.all([this.#consuming.close(), this.#publishing.close()])
  }

  async #subscribeInOrder(
    place: Place,
    { handler, prefetch }: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
  ): Promise<Subscription> {
    const { channel, queue } = place
    await this.#topology.order(channel, queue)
    const settler = this.#settler
    const holder = new Holder(this.#publisher, settler, queue, this.#settings.clock)
    const keeping = new LineKeeping(this.#settings, place, prefetch, deliver, holder, this.#lost)
    const keeperParts = {
      link: this.#consuming,
      publisher: this.#publisher,
      stalls: place.stalls,
      restore: async () => {
        await this.#topology.restore()
        await this.#topology.order(channel, queue)
      },
      bind: () => this.#topology.bind(channel, handler),
    }
    const keeper = new Keeper(this.#settings, keeperParts, queue, prefetch + ORDER_WINDOW, keeping)
    const { clock } = this.#settings
    const parts = { name: this.name, clock, queue, keeping, keeper, holder, settler }
    const subscription = new OrderedSubscription(parts, ended => this.#subscriptions.delete(ended))
    await keeper.open()
    this.#subscriptions.add(subscription)
    subscription.start()
    if (this.#isClosed) await subscription.close()
    this.#requireOpen()
    return subscription
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

  /** Undefined when there is nothing to wait for. */
  #declared({ exchange }: Route): Promise<void> | undefined {
    if (this.#settings.route !== undefined || this.#settings.declare !== 'all' || exchange === '')
      return undefined
    return this.#topology.exchange(exchange)
  }

  /** An exchange that somebody deleted is declared again, with the queues that are known here, and published to again. */
  async #send(messages: readonly Message[]): Promise<readonly Outgoing[]> {
    try {
      return await this.#publisher.send(messages)
    } catch (error) {
      const { declare, route } = this.#settings
      if (!(error instanceof ExchangeMissingError) || declare !== 'all' || route !== undefined) throw error
    }
    await this.#topology.restore()
    for (const { route } of messages) await this.#declared(route)
    return await this.#publisher.send(messages)
  }

  /**
   * Nobody has subscribed yet: the queue of the channel is made, so that what is published waits for the first. A replay for a
   * handler that is not there waits in the queue of that handler.
   */
  async #sendWhereNobodyIs(messages: readonly Message[]): Promise<void> {
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

  #requireOpen(): void {
    if (this.#isClosed) throw new BrokerClosedError(this.name)
  }
}

function notThere(queue: string, cause: unknown): TopologyError {
  const problem = `it or '${suspectsQueue(queue)}' is not there`
  return new TopologyError(
    `queue '${queue}'`,
    problem,
    `declare it: lazaret rabbitmq declare ${queue}`,
    cause,
  )
}

function unroutable({ route }: Outgoing): UnroutableError {
  return new UnroutableError(route.exchange, route.routingKey)
}
