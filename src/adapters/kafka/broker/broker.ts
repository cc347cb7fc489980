import { persist } from '../../../adapter-kit/delivery/persist.ts'
import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { subscribeRules } from '../../../adapter-kit/delivery/subscribe-options.ts'
import { PendingWork } from '../../../adapter-kit/pending-work.ts'
import { requireChannels } from '../../../core/event/channel.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf, withoutForeignReplays } from '../../../core/event/replay-headers.ts'
import { createIdSource } from '../../../core/event/uuid.ts'
import {
  type Broker,
  type BrokerCapabilities,
  BrokerClosedError,
  type Delivery,
  type QueueDepth,
  type SubscribeOptions,
  type Subscription,
  type SubscriptionStatus,
} from '../../../ports/broker.ts'
import { settlesWithin } from '../../../ports/clock.ts'
import { Cluster } from '../connection/cluster.ts'
import type { OutgoingRecord } from '../connection/partition-queue.ts'
import { Producer } from '../connection/producer.ts'
import { type KafkaOptions, type KafkaSettings, resolveKafka } from '../options.ts'
import type { SubscriptionContext } from './consume/context.ts'
import { KafkaSubscription } from './consume/subscription.ts'
import { commitStart } from './group/offsets.ts'
import { declareSession } from './group/session.ts'
import { HeldCount } from './ordered/held-count.ts'
import { depthOf, recordsIn } from './topics/depth.ts'
import { isAgainTopic } from './topics/names.ts'
import { Topics } from './topics/topics.ts'
import { encodeEvent } from './wire/event-codec.ts'
import { header, OWN } from './wire/headers.ts'

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: true,
  deadLetters: true,
  durable: true,
})
const CLOSE_MS = 5_000
const MAX_SETTLE_BACKOFF_MS = 15_000

const checkSubscribe = subscribeRules({ maxHandlerLength: 80, keyOrder: true })

/** A broker on Kafka. Nothing is connected until it is used. */
export function kafka(options: KafkaOptions): KafkaBroker {
  return new KafkaBroker(resolveKafka(options))
}

/** Publishes to and consumes from the topics of a Kafka cluster. */
export class KafkaBroker implements Broker {
  readonly name: string
  readonly kind = 'kafka'
  readonly capabilities = CAPABILITIES
  readonly #settings: KafkaSettings
  readonly #cluster: Cluster
  readonly #topics: Topics
  readonly #producer: Producer
  readonly #heldCount: HeldCount
  readonly #subscriptions = new Set<Subscription>()
  readonly #publishes = new PendingWork()
  readonly #newId: (now: number) => string
  #isClosed = false

  constructor(settings: KafkaSettings) {
    this.name = settings.name
    this.#settings = settings
    this.#newId = createIdSource(settings.random)
    this.#cluster = new Cluster(settings)
    this.#topics = new Topics(this.#cluster, settings)
    this.#heldCount = new HeldCount(this.#cluster)
    this.#producer = new Producer(this.#cluster, settings, this.#topics.restore)
  }

  async publish(events: readonly LazaretEvent[]): Promise<void> {
    this.#requireOpen()
    requireChannels(events)
    const records = withoutForeignReplays(events).map(event => this.#recordOf(event))
    this.#publishes.begin()
    try {
      await this.#producer.send(records)
    } finally {
      this.#publishes.end()
    }
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    onStatus?: (status: SubscriptionStatus) => void,
  ): Promise<Subscription> {
    this.#requireOpen()
    const { channel, handler, prefetch, ordering } = checkSubscribe(options)
    const isOrdered = ordering === 'by-key'
    const { topics: names, info, isNew } = await this.#topics.declare(channel, handler, isOrdered)
    await declareSession(this.#cluster, this.#settings, names.group)
    if (isNew) {
      if (this.#settings.from === 'latest')
        await this.#cluster.retrying(`group '${names.group}'`, () =>
          commitStart(this.#cluster, names.group, info),
        )
      await this.#topics.declareLetters(names)
    }
    this.#requireOpen()
    const { clock, random } = this.#settings
    const stalls = new StallReporter(onStatus)
    const context: SubscriptionContext = {
      settings: this.#settings,
      cluster: this.#cluster,
      producer: this.#producer,
      topics: this.#topics,
      names,
      channel,
      prefetch,
      isOrdered,
      id: this.#newId(clock.now()),
      deliver,
      stalls,
      persist: (partition, part, work) =>
        persist(
          {
            clock,
            random,
            stalls,
            part,
            maxBackoffMs: MAX_SETTLE_BACKOFF_MS,
            isOurs: () => partition.isOurs,
          },
          work,
        ),
      forget: () => this.#subscriptions.delete(subscription),
    }
    const subscription = new KafkaSubscription(context)
    this.#subscriptions.add(subscription)
    try {
      await subscription.open()
    } catch (error) {
      await subscription.close()
      throw error
    }
    subscription.start()
    if (this.#isClosed) await subscription.close()
    this.#requireOpen()
    return subscription
  }

  /** Told to all partitions of the handler, because the id of an event does not say where its key is. */
  async unblockKey(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#requireOpen()
    const topics =
      handler === undefined
        ? (await this.#names()).filter(topic => isAgainTopic(this.#settings, channel, topic))
        : [this.#topics.again(channel, handler)]
    const found = await this.#cluster.retrying('unblockKey', () => this.#cluster.topics(topics))
    const headers = [header(OWN.unblockKey, eventId)]
    const records = [...found.values()].flatMap(({ name, leaders }) =>
      leaders.map((_, partition) => ({ topic: name, partition, key: null, value: null, headers })),
    )
    await this.#producer.send(records)
  }

  /** The lag of the group in all its topics, and the events that are held. Control records of transactions count too. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#requireOpen()
    const topics = this.#topics.of(channel, handler)
    const { lag, waiting } = await this.#cluster.retrying('depth', () =>
      depthOf(this.#cluster, this.#heldCount, topics),
    )
    return lag + waiting
  }

  async deadLetterDepths(channel: string, handler: string): Promise<readonly QueueDepth[]> {
    this.#requireOpen()
    const { letters } = this.#topics.of(channel, handler)
    const depth = await this.#cluster.retrying('depth', () => recordsIn(this.#cluster, letters))
    return depth === undefined ? [] : [{ queue: letters, depth }]
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#subscriptions].map(subscription => subscription.close()))
    await settlesWithin(this.#settings.clock, CLOSE_MS, this.#publishes.settled())
    this.#producer.close()
    await this.#cluster.close()
  }

  #names(): Promise<readonly string[]> {
    return this.#cluster.retrying('the list of topics', () => this.#cluster.topicNames())
  }

  /** A replay is for the handler that failed: the others have handled the event already. */
  #recordOf(event: LazaretEvent): OutgoingRecord {
    const { channel } = event
    const handler = replayOf(event)?.handler
    const topic = handler === undefined ? this.#topics.channel(channel) : this.#topics.again(channel, handler)
    return { topic, ...encodeEvent(event, this.#topics.channel(channel)) }
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new BrokerClosedError(this.name)
  }
}
