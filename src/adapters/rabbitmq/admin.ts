import { declareAll, depthsOf, inspect, onChannel } from './broker/topology/declare.ts'
import { deadLetterQueue, quarantineQueue, retryQueue, suspectsQueue } from './broker/topology/names.ts'
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
  readonly deadLetters: number
  readonly quarantined: number
  /** The time at which the letter at the head of the dead-letter queue last failed. */
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
    const letters = deadLetterQueue(queue)
    const deadLetters = await this.#depth(letters)
    return {
      queue,
      ready: main?.messageCount,
      consumers: main?.consumerCount ?? 0,
      waiting: await this.#depth(...steps),
      suspects: await this.#depth(suspectsQueue(queue)),
      deadLetters,
      quarantined: await this.#depth(...CATEGORIES.map(category => quarantineQueue(queue, category))),
      oldestLetterAt: deadLetters === 0 ? undefined : await this.#oldest(letters),
    }
  }

  async #depth(...queues: readonly string[]): Promise<number> {
    const depths = await depthsOf(this.#connection, queues)
    return depths.reduce((sum, { depth }) => sum + depth, 0)
  }

  /** The message is not acknowledged, so it returns to the head when the channel closes. */
  async #oldest(queue: string): Promise<number | undefined> {
    const message = await onChannel(this.#connection, channel => channel.get(queue))
    return message ? timeOf(message.properties.headers?.[OWN.lastFailedAt]) : undefined
  }
}
