import { onChannel } from '../broker/topology/declare.ts'
import type { AmqpConnection, AmqpMessage } from '../connection/amqp.ts'
import type { Saver } from './saver.ts'

/**
 * Looks at the first messages of a queue. They are held while they are saved, and go back when the channel closes: a
 * queue that was looked at from several at once, or whose head was taken meanwhile, may hand them over in another order.
 */
export async function peekAt(
  connection: AmqpConnection,
  queue: string,
  limit: number,
  saver: Saver,
): Promise<number> {
  let isOpen = true
  try {
    return await onChannel(connection, async channel => {
      channel.on('close', () => {
        isOpen = false
      })
      const held: AmqpMessage[] = []
      while (held.length < limit) {
        const message = await channel.get(queue)
        if (message === false) break
        held.push(message)
      }
      await Promise.all(held.map(message => saver.save(message, queue, () => isOpen)))
      return held.length
    })
  } finally {
    isOpen = false
  }
}
