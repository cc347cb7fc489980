import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { nextTurn } from '../../../../ports/clock.ts'
import type { AmqpConnection } from '../../connection/amqp.ts'
import { Session } from './session.ts'

/** A channel of a client that answers when it is told to. */
class FakeChannel extends EventEmitter {
  readonly ch = 1
  readonly connection: { channels: Record<number, { channel: unknown } | null> } = { channels: {} }
  answer = () => {}

  constructor(isThere = true) {
    super()
    this.connection.channels[1] = isThere ? { channel: this } : null
  }

  prefetch = async () => {}
  consume = async () => ({ consumerTag: 'tag' })
  cancel = () => new Promise<void>(resolve => (this.answer = resolve))
  close = () => new Promise<void>(() => {})
}

function open(channel: FakeChannel): Promise<Session> {
  const connection = { createChannel: async () => channel } as unknown as AmqpConnection
  return Session.open(connection, () => {})
}

it('F5: closing does not wait for an answer that died with its connection', async () => {
  const channel = new FakeChannel()
  const session = await open(channel)
  const closing = session.close()
  channel.emit('close')
  await closing
  expect(session.isOpen).toBe(false)
})

it('F5: a channel that was closed before anyone could listen is not taken for open', async () => {
  await expect(open(new FakeChannel(false))).rejects.toThrow('the channel closed as it was opened')
})

it('B8: what flows has stopped when the server has heard so, and not before', async () => {
  const channel = new FakeChannel()
  const session = await open(channel)
  await session.consume('queue', 'orders', 10, () => {})
  const cancelling = session.cancel()
  await nextTurn()
  expect(session.flow).toBe('queue')
  channel.answer()
  await cancelling
  expect(session.flow).toBe('none')
})
