import type { QueueDepth } from '../../ports/broker.ts'
import { type Clock, within } from '../../ports/clock.ts'
import type { Collector } from '../../ports/collector.ts'
import type { Consumers } from './consumers.ts'
import { Memo } from './memo.ts'

/** The snapshots of several stores are taken one after the other, and share an answer. */
const KEPT_MS = 2_000
/** Who does not answer for so long counts as down. */
const PATIENCE_MS = 3_000

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

interface Answer {
  readonly broker: string
  /** Undefined: whoever asked knows only the queue. */
  readonly channel: string | undefined
  /** Undefined: no answer. */
  readonly queues: readonly QueueDepth[] | undefined
}

/** How much lies in the dead-letter queues of brokers: those of the consumers here, and those that are collected. */
export class Depths {
  readonly #consumers: Consumers
  readonly #collectors: readonly Collector[]
  readonly #clock: Clock
  readonly #memo: Memo

  constructor(consumers: Consumers, collectors: readonly Collector[], clock: Clock) {
    this.#consumers = consumers
    this.#collectors = collectors
    this.#clock = clock
    this.#memo = new Memo(clock)
  }

  /** As of a moment ago. */
  look(): Promise<DeadLetterDepths> {
    return this.#memo.get('depths', KEPT_MS, () => this.ask())
  }

  /** As of now. It never rejects: a broker that does not answer in time is named in `down`. */
  async ask(): Promise<DeadLetterDepths> {
    const asked = [
      ...this.#collectors.map(each => this.#askOne({ broker: each.name, channel: undefined }, each.depths())),
      ...this.#consumers
        .all()
        .map(({ consumer, health: { channel } }) =>
          this.#askOne({ broker: consumer.brokerName, channel }, consumer.deadLetterDepths()),
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

  async #askOne(who: Pick<Answer, 'broker' | 'channel'>, depths: Promise<Answer['queues']>): Promise<Answer> {
    const isInTime = await within(this.#clock, PATIENCE_MS, depths)
    return { ...who, queues: isInTime ? await depths.catch(() => undefined) : undefined }
  }
}
