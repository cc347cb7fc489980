import type { QueueDepth } from '../../ports/broker.ts'
import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { Collector } from '../../ports/collector.ts'
import type { LocalConsumers } from './local-consumers.ts'
import { TtlCache } from './ttl-cache.ts'

/** The server takes the snapshots of several stores one after the other. The cache lets them share one answer. */
const CACHE_MS = 2_000
/** A broker that does not answer within this time counts as down. */
const TIMEOUT_MS = 3_000

/** A dead-letter queue and its channel. The channel is the queue name if no consumer of this process knows better. */
export interface DeadLetterQueueDepth extends QueueDepth {
  readonly broker: string
  readonly channel: string
}

export interface DeadLetterDepths {
  /** Messages in dead-letter queues that are not letters in a store yet. */
  readonly total: number
  readonly queues: readonly DeadLetterQueueDepth[]
  /** The brokers that did not answer. */
  readonly down: readonly string[]
}

interface BrokerAnswer {
  readonly broker: string
  /** Undefined when the source knows only the queue, as a collector does. */
  readonly channel: string | undefined
  /** Undefined when the broker did not answer. */
  readonly queues: readonly QueueDepth[] | undefined
}

/** Counts the messages in dead-letter queues: those of the consumers of this process, and those of the collectors. */
export class QueueDepths {
  readonly #consumers: LocalConsumers
  readonly #collectors: readonly Collector[]
  readonly #clock: Clock
  readonly #cache: TtlCache

  constructor(consumers: LocalConsumers, collectors: readonly Collector[], clock: Clock) {
    this.#consumers = consumers
    this.#collectors = collectors
    this.#clock = clock
    this.#cache = new TtlCache(clock)
  }

  /** The depths of at most two seconds ago. */
  cached(): Promise<DeadLetterDepths> {
    return this.#cache.get('depths', CACHE_MS, () => this.read())
  }

  /** The depths of now. It never rejects: `down` names a broker that does not answer in time. */
  async read(): Promise<DeadLetterDepths> {
    const asked = [
      ...this.#collectors.map(each =>
        this.#readOne({ broker: each.name, channel: undefined }, each.depths()),
      ),
      ...this.#consumers
        .all()
        .map(({ consumer, health: { channel } }) =>
          this.#readOne({ broker: consumer.brokerName, channel }, consumer.deadLetterDepths()),
        ),
    ]
    const answers = await Promise.all(asked)
    // A collector and a consumer may know the same queue, which must count once.
    const depths = new Map<string, DeadLetterQueueDepth>()
    for (const { broker, channel, queues = [] } of answers)
      for (const { queue, depth } of queues)
        depths.set(`${broker}\n${queue}`, { broker, queue, depth, channel: channel ?? queue })
    const queues = [...depths.values()]
    const down = answers.filter(({ queues }) => queues === undefined).map(({ broker }) => broker)
    return { total: queues.reduce((sum, { depth }) => sum + depth, 0), queues, down: [...new Set(down)] }
  }

  async #readOne(
    who: Pick<BrokerAnswer, 'broker' | 'channel'>,
    depths: Promise<BrokerAnswer['queues']>,
  ): Promise<BrokerAnswer> {
    const isInTime = await settlesWithin(this.#clock, TIMEOUT_MS, depths)
    return { ...who, queues: isInTime ? await depths.catch(() => undefined) : undefined }
  }
}
