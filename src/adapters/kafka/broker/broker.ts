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
import { Cluster } from '../connection/cluster.ts'
import type { OutgoingRecord } from '../connection/partition-queue.ts'
import { Producer } from '../connection/producer.ts'
import { type KafkaOptions, type KafkaSettings, resolveKafka } from '../options.ts'
import type { SubscriptionContext } from './consume/context.ts'
import { KafkaSubscription } from './consume/subscription.ts'
import { commitStart } from './group/offsets.ts'
import { declareSession } from './group/session.ts'
import { HeldCount } from './ordered/held-count.ts'
import { unblockRecords } from './ordered/unblock-records.ts'
import { depthOf, recordsIn } from './topics/depth.ts'
import { isAgainTopic } from './topics/names.ts'
import { Topics } from './topics/topics.ts'
import { encodeEvent } from './wire/event-codec.ts'
import { newLog, readLog } from './wire/record-log.ts'

const CAPABILITIES: BrokerCapabilities = Object.freeze({
  delay: true,
  keyOrder: true,
  deadLetters: true,
  durable: true,
})
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
  readonly #work: BrokerWork
  readonly #newId: (now: number) => string

  constructor(settings: KafkaSettings) {
    this.name = settings.name
    this.#settings = settings
    this.#work = new BrokerWork(settings.name, settings.clock)
    this.#newId = createIdSource(settings.random)
    this.#cluster = new Cluster(settings)
    this.#topics = new Topics(this.#cluster, settings)
    this.#heldCount = new HeldCount(this.#cluster)
    this.#producer = new Producer(this.#cluster, settings, this.#topics.restore)
  }

  publish(events: readonly LazaretEvent[]): Promise<void> {
    return this.#work.publish(events, own => this.#producer.send(own.map(event => this.#recordOf(event))))
  }

  async subscribe(
    options: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    onStatus?: (status: SubscriptionStatus) => void,
  ): Promise<Subscription> {
    this.#work.requireOpen()
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
    this.#work.requireOpen()
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
      logOf: (record, texts) =>
        record.topic === names.channel ? newLog(this.name, record) : readLog(this.name, record, texts),
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
      forget: () => this.#work.forget(subscription),
    }
    const subscription = new KafkaSubscription(context)
    return await this.#work.subscribe(subscription)
  }

  async unblockKey(channel: string, eventId: string, handler?: string): Promise<void> {
    this.#work.requireOpen()
    const topics =
      handler === undefined
        ? (await this.#names()).filter(topic => isAgainTopic(this.#settings, channel, topic))
        : [this.#topics.again(channel, handler)]
    const records = await this.#cluster.retrying('unblockKey', () =>
      unblockRecords(this.#cluster, topics, eventId),
    )
    await this.#producer.send(records)
  }

  /** The lag of the group in all its topics, and the events that are held. Control records of transactions count too. */
  async depth(channel: string, handler: string): Promise<number> {
    this.#work.requireOpen()
    const topics = this.#topics.of(channel, handler)
    const { lag, waiting } = await this.#cluster.retrying('depth', () =>
      depthOf(this.#cluster, this.#heldCount, topics),
    )
    return lag + waiting
  }

  async deadLetterDepths(channel: string, handler: string): Promise<readonly QueueDepth[]> {
    this.#work.requireOpen()
    const { letters } = this.#topics.of(channel, handler)
    const depth = await this.#cluster.retrying('depth', () => recordsIn(this.#cluster, letters))
    return depth === undefined ? [] : [{ queue: letters, depth }]
  }

  close(): Promise<void> {
    return this.#work.close(async () => {
      this.#producer.close()
      await this.#cluster.close()
    })
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
}
