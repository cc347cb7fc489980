import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import type { AmqpConnection } from '../../connection/amqp.ts'
import { ConsumerChannel } from './consumer-channel.ts'

/** A channel of a client that answers when it is told to. */
class FakeChannel extends EventEmitter {
  readonly ch = 1
  readonly connection: { channels: Record<number, { channel: unknown } | null> } = { channels: {} }

  constructor(isThere = true) {
    super()
    this.connection.channels[1] = isThere ? { channel: this } : null
  }

  close = () => new Promise<void>(() => {})
}

function open(channel: FakeChannel): Promise<ConsumerChannel> {
  const connection = { createChannel: async () => channel } as unknown as AmqpConnection
  return ConsumerChannel.open(connection, () => {})
}

it('F5: closing does not wait for an answer that died with its connection', async () => {
  const channel = new FakeChannel()
  const consumer = await open(channel)
  const closing = consumer.close()
  channel.emit('close')
  await closing
  expect(consumer.isOpen).toBe(false)
})

it('F5: a channel that was closed before anyone could listen is not taken for open', async () => {
  await expect(open(new FakeChannel(false))).rejects.toThrow('the channel closed as it was opened')
})
