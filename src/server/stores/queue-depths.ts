import type { QueueDepth } from '../../ports/broker.ts'
import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { Collector } from '../../ports/collector.ts'
import type { LocalConsumers } from './local-consumers.ts'
import { TtlCache } from './ttl-cache.ts'

/** The snapshots of several stores are taken one after the other, and share an answer. */
const CACHE_MS = 2_000
/** Who does not answer for so long counts as down. */
const TIMEOUT_MS = 3_000

/** A queue of dead letters, and the channel it is of: where no consumer here tells that, it stands under its own name. */
export interface DeadLetterQueueDepth extends QueueDepth {
  readonly broker: string
  readonly channel: string
}

export interface DeadLetterDepths {
  /** Messages in dead-letter queues that no store has letters of yet. */
  readonly total: number
  readonly queues: readonly DeadLetterQueueDepth[]
  /** The brokers that did not answer. */
  readonly down: readonly string[]
}

interface BrokerAnswer {
  readonly broker: string
  /** Undefined: the caller knows only the queue. */
  readonly channel: string | undefined
  /** Undefined: no answer. */
  readonly queues: readonly QueueDepth[] | undefined
}

/** How much lies in the dead-letter queues of brokers: those of the consumers here, and those that are collected. */
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

  /** As of a moment ago. */
  cached(): Promise<DeadLetterDepths> {
    return this.#cache.get('depths', CACHE_MS, () => this.read())
  }

  /** As of now. It never rejects: a broker that does not answer in time is named in `down`. */
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
    // A queue that is collected and that a consumer here writes to is counted once.
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
