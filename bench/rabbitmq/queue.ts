import { once } from 'node:events'
import { type ChannelModel, connect } from 'amqplib'
import { BODY } from '../harness/body.ts'

export type QueueType = 'quorum' | 'classic'

/** The server, as the code that prepares and checks a round uses it. */
export class Bench {
  readonly url: string
  readonly #connection: ChannelModel
  #rounds = 0

  private constructor(url: string, connection: ChannelModel) {
    this.url = url
    this.#connection = connection
  }

  static async at(url: string): Promise<Bench> {
    return new Bench(url, await connect(url))
  }

  /** A new queue name. */
  newName(what: string): string {
    return `${what}-${++this.#rounds}`
  }

  async declare(queue: string, type: QueueType, args: Record<string, string | number> = {}): Promise<void> {
    await this.#with(channel =>
      channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': type, ...args } }),
    )
  }

  /** Persistent messages that any client can read. */
  async fill(queue: string, count: number): Promise<void> {
    const channel = await this.#connection.createConfirmChannel()
    for (let number = 0; number < count; number++) {
      const properties = {
        persistent: true,
        contentType: 'application/json',
        type: 'order.placed',
        messageId: `${queue}-${number}`,
      }
      if (!channel.publish('', queue, BODY, properties)) await once(channel, 'drain')
    }
    await channel.waitForConfirms()
    await channel.close()
  }

  depth(queue: string): Promise<number> {
    return this.#with(async channel => (await channel.checkQueue(queue)).messageCount)
  }

  async remove(...queues: readonly string[]): Promise<void> {
    await this.#with(async channel => {
      for (const queue of queues) await channel.deleteQueue(queue)
    })
  }

  async close(): Promise<void> {
    await this.#connection.close()
  }

  async #with<T>(
    work: (channel: Awaited<ReturnType<ChannelModel['createChannel']>>) => Promise<T>,
  ): Promise<T> {
    const channel = await this.#connection.createChannel()
    try {
      return await work(channel)
    } finally {
      await channel.close()
    }
  }
}
