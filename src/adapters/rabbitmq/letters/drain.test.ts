import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { FakeRabbitmq } from '../../../../test/support/fake-rabbitmq.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import type { AmqpConnection, AmqpMessage } from '../connection/amqp.ts'
import type { Link } from '../connection/link.ts'
import { Drain } from './drain.ts'
import { resolveCollector } from './options.ts'
import type { Saver } from './saver.ts'

/** A channel whose consuming is answered when the test says so. */
class SlowChannel extends EventEmitter {
  isConsumed = false
  isClosed = false
  answer = () => {}
  prefetch = async () => {}
  cancel = async () => {}
  consume = () => {
    this.isConsumed = true
    return new Promise<{ consumerTag: string }>(resolve => {
      this.answer = () => resolve({ consumerTag: 'q' })
    })
  }
  close = async () => {
    this.isClosed = true
    this.emit('close')
  }
}

it('F8: a drain that is closed while its channel opens takes nothing out of the queue any more', async () => {
  const clock = new FakeClock()
  const channel = new SlowChannel()
  const connection = { createChannel: async () => channel } as unknown as AmqpConnection
  const link = { get: async () => connection } as unknown as Link
  const settings = resolveCollector({ url: 'amqp://test', queues: ['q'], clock })
  const drain = new Drain('q', settings, link, {} as Saver)
  await clock.advance(0)
  expect(channel.isConsumed).toBe(true)
  const closing = drain.close()
  channel.answer()
  await clock.advance(20_000)
  await closing
  expect(channel.isClosed).toBe(true)
})

it('B7: a drain whose queue has messages and gets none consumes it on another channel, and tells', async () => {
  const clock = new FakeClock()
  const server = new FakeRabbitmq()
  const errors: unknown[] = []
  const saved: (string | undefined)[] = []
  const link = { get: async () => server.connection } as unknown as Link
  const saver = {
    save: async ({ properties }: AmqpMessage) => {
      saved.push(properties.messageId)
      return true
    },
  } as unknown as Saver
  const onError = (error: unknown) => void errors.push(error)
  const settings = resolveCollector({ url: 'amqp://test', queues: ['q'], clock, onError })
  const drain = new Drain('q', settings, link, saver)
  server.publish('q', 'first')
  await clock.advance(10)
  server.forgetConsumers('q')
  server.publish('q', 'second')
  await clock.advance(6_000)
  expect([server.sessions, saved]).toEqual([2, ['first', 'second']])
  expect(String(errors[0])).toContain("collecting queue 'q'")
  expect(errors).toHaveLength(1)
  await Promise.all([drain.close(), clock.advance(20_000)])
})
