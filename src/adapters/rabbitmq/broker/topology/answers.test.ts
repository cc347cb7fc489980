import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { yieldToEventLoop } from '../../../../ports/clock.ts'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import type { AmqpChannel, AmqpConnection } from '../../connection/amqp.ts'
import { AnswerTimeoutError } from '../../connection/confirms.ts'
import type { Link } from '../../connection/link.ts'
import { resolveRabbitmq } from '../../options.ts'
import { onChannel } from './declare.ts'
import { Topology } from './topology.ts'

const NEVER = new Promise<never>(() => {})

/** A connection with one channel, whose server answers as the given methods do. */
function connectionWith(methods: Partial<AmqpChannel>) {
  const channel = Object.assign(new EventEmitter(), { close: async () => {}, ...methods }) as unknown as
    | AmqpChannel
    | EventEmitter
  const connection = { createChannel: async () => channel } as unknown as AmqpConnection
  return { connection, end: () => (channel as EventEmitter).emit('close') }
}

describe('a server that does not answer', () => {
  it('E21: a connection that ends while a channel is closed keeps nobody waiting', async () => {
    const { connection, end } = connectionWith({ close: () => NEVER })
    const work = onChannel(connection, async () => 'done')
    await yieldToEventLoop()
    end()
    expect(await work).toBe('done')
  })

  it('E21: a queue that is not declared in time is declared again, and others do not wait for it', async () => {
    const clock = new FakeClock()
    const declared: string[] = []
    let isSilent = true
    const { connection } = connectionWith({
      assertQueue: queue => {
        declared.push(queue)
        return isSilent ? NEVER : Promise.resolve({ queue, messageCount: 0, consumerCount: 0 })
      },
    })
    const link = { server: 'amqp://test', get: async () => connection } as unknown as Link
    const options = { url: 'amqp://test', connectTimeoutMs: 30_000 }
    const topology = new Topology(link, { ...resolveRabbitmq(options), clock })
    const problem = topology.retryStep('orders', 1_000).catch(error => error)
    await clock.advance(30_000)
    expect(await problem).toMatchObject({ code: 'LAZARET_BROKER_UNREACHABLE', retryable: true })
    expect((await problem).message).toContain('orders.retry.1s not declared within 30000 ms')
    expect((await problem).cause).toBeInstanceOf(AnswerTimeoutError)
    isSilent = false
    await topology.retryStep('orders', 1_000)
    expect(declared).toEqual(['orders.retry.1s', 'orders.retry.1s'])
  })
})
