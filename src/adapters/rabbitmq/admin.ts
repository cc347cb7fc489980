import type { Category } from '../../core/failure/failure.ts'
import type { QueueDepth } from '../../ports/broker.ts'
import { declareAll, depthsOf, inspect, onChannel } from './broker/topology/declare.ts'
import { categoryQueue, quarantineQueue, retryQueue, suspectsQueue } from './broker/topology/names.ts'
import { allSpecs, CATEGORIES, orderedSpecs } from './broker/topology/plan.ts'
import { OWN, timeOf } from './broker/wire/headers.ts'
import type { AmqpConnection } from './connection/amqp.ts'
import { Link } from './connection/link.ts'
import { type RabbitmqOptions, type RabbitmqSettings, resolveRabbitmq } from './options.ts'

/** The messages of a queue and of the queues beside it. */
export interface QueueStatus {
  readonly queue: string
  /** Undefined if the queue does not exist. */
  readonly ready: number | undefined
  readonly consumers: number
  /** The messages that wait for their next attempt. */
  readonly waiting: number
  readonly suspects: number
  /** In the dead-letter queue and in those of the categories. */
  readonly deadLetters: number
  /** The part of `deadLetters` in the queues of the categories. */
  readonly byCategory: Readonly<Record<Category, number>>
  readonly quarantined: number
  /** The time at which the oldest letter at the head of these queues last failed. */
  readonly oldestLetterAt: number | undefined
}

/** Runs work for a person who waits for the answer: one connection, and no reconnecting. */
export async function withAdmin<T>(
  options: RabbitmqOptions,
  work: (admin: RabbitmqAdmin) => Promise<T>,
): Promise<T> {
  const settings = resolveRabbitmq(options)
  const link = new Link(settings, 'publishing')
  try {
    return await work(new RabbitmqAdmin(await link.get(settings.connectTimeoutMs), settings))
  } finally {
    await link.close()
  }
}

class RabbitmqAdmin {
  readonly #connection: AmqpConnection
  readonly #settings: RabbitmqSettings

  constructor(connection: AmqpConnection, settings: RabbitmqSettings) {
    this.#connection = connection
    this.#settings = settings
  }

  /** Declares everything that can belong to the queue. Returns the names of all queues. */
  async declare(queue: string, channel: string, isOrdered = false): Promise<readonly string[]> {
    const order = isOrdered ? orderedSpecs(channel, queue, this.#settings) : []
    const specs = [...allSpecs(queue, channel, this.#settings), ...order]
    await declareAll(this.#connection, specs)
    return specs.flatMap(spec => (spec.kind === 'queue' ? [spec.name] : []))
  }

  async status(queue: string): Promise<QueueStatus> {
    const main = await inspect(this.#connection, queue)
    const steps = this.#settings.retryStepsMs.map(stepMs => retryQueue(queue, stepMs))
    const letters = this.#settings.deadLetterQueue(queue)
    const sorted = CATEGORIES.map(category => categoryQueue(letters, category))
    const depths = await depthsOf(this.#connection, [letters, ...sorted])
    const depthOf = (name: string) => depths.find(each => each.queue === name)?.depth ?? 0
    return {
      queue,
      ready: main?.messageCount,
      consumers: main?.consumerCount ?? 0,
      waiting: await this.#depth(...steps),
      suspects: await this.#depth(suspectsQueue(queue)),
      deadLetters: depths.reduce((sum, { depth }) => sum + depth, 0),
      byCategory: Object.fromEntries(
        CATEGORIES.map(category => [category, depthOf(categoryQueue(letters, category))]),
      ) as Record<Category, number>,
      quarantined: await this.#depth(...CATEGORIES.map(category => quarantineQueue(letters, category))),
      oldestLetterAt: await this.#oldest(depths.filter(({ depth }) => depth > 0)),
    }
  }

  async #depth(...queues: readonly string[]): Promise<number> {
    const depths = await depthsOf(this.#connection, queues)
    return depths.reduce((sum, { depth }) => sum + depth, 0)
  }

  /** The messages are not acknowledged, so they return to the heads of their queues when the channel closes. */
  async #oldest(queues: readonly QueueDepth[]): Promise<number | undefined> {
    const times: number[] = []
    for (const { queue } of queues) {
      const message = await onChannel(this.#connection, channel => channel.get(queue))
      const at = message ? timeOf(message.properties.headers?.[OWN.lastFailedAt]) : undefined
      if (at !== undefined) times.push(at)
    }
    return times.length === 0 ? undefined : Math.min(...times)
  }
}
