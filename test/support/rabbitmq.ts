import { connect } from 'amqplib'
import { onChannel } from '../../src/adapters/rabbitmq/broker/topology/declare.ts'
import { readLetter } from '../../src/adapters/rabbitmq/broker/wire/letter.ts'
import type { AmqpConnection, AmqpMessage } from '../../src/adapters/rabbitmq/connection/amqp.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { mergeLetter } from '../../src/core/dead-letter/merge.ts'

/** What a test sees of a server without the adapter: as another program would. */
export class RabbitmqAdmin {
  readonly connection: AmqpConnection

  private constructor(connection: AmqpConnection) {
    this.connection = connection
  }

  static async at(url: string): Promise<RabbitmqAdmin> {
    const connection = (await connect(url)) as unknown as AmqpConnection
    connection.on('error', () => {})
    return new RabbitmqAdmin(connection)
  }

  /** Everything in the queue; it stays there. */
  peek(queue: string): Promise<AmqpMessage[]> {
    return onChannel(this.connection, async channel => {
      const messages: AmqpMessage[] = []
      for (let message = await channel.get(queue); message; message = await channel.get(queue))
        messages.push(message)
      return messages
    })
  }

  /** The letters in a dead-letter queue, those of one event merged as a store would. */
  async letters(queue: string): Promise<DeadLetter[]> {
    const letters = new Map<string, DeadLetter>()
    for (const message of await this.peek(queue)) {
      const letter = readLetter(message)
      if (letter !== undefined) letters.set(letter.id, mergeLetter(letters.get(letter.id), letter))
    }
    return [...letters.values()]
  }

  /** Takes everything out of the queue; the ids of what was in it. */
  take(queue: string): Promise<string[]> {
    return onChannel(this.connection, async channel => {
      const ids: string[] = []
      for (let message = await channel.get(queue, { noAck: true }); message; ) {
        ids.push(message.properties.messageId ?? '')
        message = await channel.get(queue, { noAck: true })
      }
      return ids
    })
  }

  async publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    properties: object = {},
  ): Promise<void> {
    const channel = await this.connection.createConfirmChannel()
    await new Promise<void>((resolve, reject) =>
      channel.publish(exchange, routingKey, content, properties, error =>
        error ? reject(error) : resolve(),
      ),
    )
    await channel.close()
  }

  async depth(queue: string): Promise<number> {
    return await onChannel(this.connection, async channel => (await channel.checkQueue(queue)).messageCount)
  }

  async consumers(queue: string): Promise<number> {
    return await onChannel(this.connection, async channel => (await channel.checkQueue(queue)).consumerCount)
  }

  async close(): Promise<void> {
    await this.connection.close().catch(() => {})
  }
}
