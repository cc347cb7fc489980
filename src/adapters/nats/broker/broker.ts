import { BrokerWork } from '../../../adapter-kit/delivery/broker-work.ts'
import { persist } from '../../../adapter-kit/delivery/persist.ts'
import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { subscribeRules } from '../../../adapter-kit/delivery/subscribe-options.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf } from '../../../core/event/replay-headers.ts'
import { createIdSource } from '../../../core/event/uuid.ts'
import type {
  Broker,
  BrokerCapabilities,
  Delivery,
  QueueDepth,
  SubscribeOptions,
  Subscription,
  SubscriptionStatus,
} from '../../../ports/broker.ts'
import { JetStream } from '../connection/jetstream.ts'
import { Link } from '../connection/link.ts'
import { reportOutages } from '../connection/outages.ts'
import { NO_DATA, type OutgoingMessage, Publisher } from '../connection/publisher.ts'
import { type NatsOptions, type NatsSettings, resolveNats } from '../options.ts'
import type { SubscriptionContext } from './consume/context.ts'
import { NatsSubscription } from './consume/subscription.ts'
import { OrderedSubscription } from './ordered/ordered-subscription.ts'
import { unsettledEvents, waitingEvents } from './streams/depth.ts'
import { eventSubject, namesOf, retrySubject, streamsOf } from './streams/names.ts'
import { Streams } from './streams/streams.ts'
import { encodeEvent } from './wire/event-codec.ts'
import { asciiJson, OWN } from './wire/headers.ts'

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: true,
  deadLetters: true,
  durable: true,
})
const MAX_SETTLE_BACKOFF_MS = 15_000
/** An event that is published must leave room for the headers of its letter. */
const SPARE_BYTES = 4_000

const checkSubscribe = subscribeRules({ maxHandlerLength: 80, keyOrder: true })

/** A broker on NATS JetStream. Nothing is connected until it is used. */
export function nats(options: NatsOptions): NatsBroker {
  return new NatsBroker(resolveNats(options))
}

/** Publishes to and consumes from the streams of NATS JetStream. */
export class NatsBroker implements Broker {
  readonly name: string
  readonly kind = 'nats'
  readonly capabilities = CAPABILITIES
  readonly #settings: NatsSettings
  readonly #link: Link
  readonly #jetstream: JetStream
  readonly #streams: Streams
  readonly #publisher: Publisher
  readonly #work: BrokerWork
  readonly #newId: (now: number) => string

  constructor(settings: NatsSettings) {
    this.name = settings.name
    this.#settings = settings
    this.#work = new BrokerWork(settings.name, settings.clock)
    this.#newId = createIdSource(settings.random)
    const id = this.#newId(settings.clock.now())
    this.#link = new Link(settings, id)
    this.#jetstream = new JetStream(this.#link)
    this.#streams = new Streams(this.#jetstream, settings)
    this.#publisher = new Publisher(this.#link, settings, id, this.#streams)
  }

  publish(events: readonly LazaretEvent[]): Promise<void> {
    return this.#work.publish(events, own =>
      this.#publisher.publish(own.map(event => this.#messageOf(event))),
    )
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    onStatus?: (status: SubscriptionStatus) => void,
  ): Promise<Subscription> {
    this.#work.requireOpen()
    const { channel, handler, prefetch, ordering } = checkSubscribe(options)
    const names = namesOf(channel, handler)
    const ackWaitMs = await this.#streams.needConsumers(names)
    this.#work.requireOpen()
    const { clock, random } = this.#settings
    const stalls = new StallReporter(onStatus)
    let stopReporting = () => {}
    const forgetHandler = this.#streams.remember(names)
    const context: SubscriptionContext = {
      settings: this.#settings,
      link: this.#link,
      jetstream: this.#jetstream,
      publisher: this.#publisher,
      streams: this.#streams,
      names,
      prefetch,
      ackWaitMs,
      id: this.#newId(clock.now()),
      deliver,
      stalls,
      persist: (isOurs, part, work) =>
        persist({ clock, random, stalls, part, maxBackoffMs: MAX_SETTLE_BACKOFF_MS, isOurs }, work),
      forget: () => {
        stopReporting()
        forgetHandler()
        this.#work.forget(subscription)
      },
    }
    const subscription =
      ordering === 'by-key' ? new OrderedSubscription(context) : new NatsSubscription(context)
    const subscribed = await this.#work.subscribe(subscription)
    stopReporting = reportOutages(this.#link, stalls)
    return subscribed
  }

  /** Told to the consumers of the handlers, because only the owner of an order knows its dead-lettered events. */
  async unblockKey(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#work.requireOpen()
    const { retries } = streamsOf(channel)
    const consumers =
      handler === undefined
        ? await this.#jetstream.consumerNames(retries)
        : (await this.#jetstream.streamInfo(retries)) === undefined
          ? []
          : [namesOf(channel, handler).consumer]
    if (consumers.length === 0) return
    const stream = this.#streams.name(channel, 'retries')
    const headers = [[OWN.unblockKey, asciiJson(eventId)]] as const
    await this.#publisher.publish(
      consumers.map(consumer => ({
        stream,
        subject: retrySubject(channel, consumer),
        data: NO_DATA,
        headers,
      })),
    )
  }

  /** What the consumers of the handler have not acknowledged, and what waits for others of its key. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#work.requireOpen()
    const names = namesOf(channel, handler)
    return (await unsettledEvents(this.#jetstream, names)) + (await waitingEvents(this.#jetstream, names))
  }

  async deadLetterDepths(channel: string, handler: string): Promise<readonly QueueDepth[]> {
    this.#work.requireOpen()
    const { streams, letterSubject } = namesOf(channel, handler)
    const info = await this.#jetstream.streamInfo(streams.letters, letterSubject)
    if (info === undefined) return []
    return [{ queue: streams.letters, depth: info.state.subjects?.[letterSubject] ?? 0 }]
  }

  close(): Promise<void> {
    return this.#work.close(async () => {
      this.#publisher.close()
      await this.#link.close()
    })
  }

  /** A replay is for the handler that failed: the others have handled the event already. */
  #messageOf(event: LazaretEvent): OutgoingMessage {
    const { channel, type, key } = event
    const handler = replayOf(event)?.handler
    const { data, headers } = encodeEvent(event)
    if (handler === undefined)
      return {
        stream: this.#streams.name(channel, 'events'),
        subject: eventSubject(channel, type),
        data,
        headers,
        key,
        spareBytes: SPARE_BYTES,
      }
    const { retrySubject: subject } = namesOf(channel, handler)
    return { stream: this.#streams.name(channel, 'retries'), subject, data, headers, key }
  }
}
