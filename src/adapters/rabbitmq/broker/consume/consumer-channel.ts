import { type Clock, delay } from '../../../../ports/clock.ts'
import type { AmqpChannel, AmqpConnection, AmqpMessage } from '../../connection/amqp.ts'
import { requireOpen } from '../../connection/amqplib-internals.ts'
import { Acks } from './acks.ts'
import { PrefetchWindow } from './stall-detector.ts'

/** AMQP counts it in 16 bits. */
export const MAX_PREFETCH = 65_535
const NOT_FOUND = 404
/**
 * A quorum queue needs this time to record acknowledgements. It returns messages that were acknowledged right before
 * their channel closed.
 */
const RECORD_ACKS_MS = 300

/**
 * One channel that consumes. A message can only be acknowledged on its own channel. When the channel is lost, the server
 * delivers all its messages again, and late acknowledgements have no effect.
 */
export class ConsumerChannel {
  readonly #acks: Acks
  readonly #channel: AmqpChannel
  readonly #tags = new Set<string>()
  /** Why it was closed: the reply code of the server. */
  #code: unknown
  #isOpen = true
  /** The number of consumers that the channel has had. */
  #consumers = 0
  /** Called when the last of what came is settled, once the channel takes nothing more. */
  #afterLast: (() => void) | undefined
  readonly #ended = Promise.withResolvers<void>()

  private constructor(channel: AmqpChannel) {
    this.#channel = channel
    this.#acks = new Acks(channel)
  }

  static async open(
    connection: AmqpConnection,
    onLost: (channel: ConsumerChannel) => void = () => {},
  ): Promise<ConsumerChannel> {
    const channel = await connection.createChannel()
    requireOpen(channel)
    const consumer = new ConsumerChannel(channel)
    channel.on('error', (error: { readonly code?: unknown }) => {
      consumer.#code = error.code
    })
    channel.on('close', () => {
      consumer.#ended.resolve()
      if (!consumer.#isOpen) return
      consumer.#isOpen = false
      onLost(consumer)
    })
    return consumer
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Resolves when the channel is closed, by whomever. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** Whether the channel failed because the queue does not exist. */
  get isQueueMissing(): boolean {
    return this.#code === NOT_FOUND
  }

  /** The number of ready messages of the queue. Fails if the queue does not exist. */
  readonly countReady = async (queue: string): Promise<number> =>
    (await this.#channel.checkQueue(queue)).messageCount

  /** A prefetch of 0 sets no limit, but that of quorum queues is 2 000 then. A message of null says that the queue was deleted. */
  async consume(
    queue: string,
    prefetch: number,
    receive: (message: AmqpMessage | null) => void,
  ): Promise<PrefetchWindow> {
    const limit = Math.min(prefetch, MAX_PREFETCH)
    const window = new PrefetchWindow(limit === 0 ? undefined : limit)
    await this.#channel.prefetch(limit)
    // The tag is known before the server answers, so that a cancel in between reaches this consumer as well. Each consumer has its own: with
    // the tag of a cancelled consumer, a quorum queue delivers the messages again that are still open there.
    const consumerTag = `${queue} ${++this.#consumers}`
    this.#tags.add(consumerTag)
    const arrived = (message: AmqpMessage | null) => {
      if (message !== null) this.#acks.arrived(message, window)
      receive(message)
    }
    await this.#channel.consume(queue, arrived, { consumerTag })
    return window
  }

  /** Stops deliveries. Messages may still arrive until the server has answered. */
  async cancel(): Promise<void> {
    const tags = [...this.#tags]
    this.#tags.clear()
    for (const tag of tags) await this.#channel.cancel(tag)
  }

  settled(message: AmqpMessage): void {
    if (!this.#isOpen) return
    this.#acks.settled(message)
    if (this.#acks.open === 0) this.#afterLast?.()
  }

  /** Sends the acknowledgements that wait, and gives a quorum queue the time to record them. */
  async flush(clock: Clock, queueType: 'quorum' | 'classic'): Promise<void> {
    this.#acks.flush()
    if (this.#isOpen && this.#acks.sent > 0 && queueType === 'quorum') await delay(clock, RECORD_ACKS_MS)
  }

  /**
   * Accepts no more messages. Received messages can still be acknowledged; `afterLast` is called when all of them are.
   */
  async retire(afterLast: () => void): Promise<void> {
    await this.cancel().catch(() => {})
    if (this.#acks.open === 0) afterLast()
    else this.#afterLast = afterLast
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    // The client does not answer when the connection ends first; then the channel ends with it.
    await Promise.race([this.#channel.close().catch(() => {}), this.#ended.promise])
  }
}
