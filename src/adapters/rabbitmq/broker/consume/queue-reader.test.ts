import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import type { SubscriptionStatus } from '../../../../ports/broker.ts'
import { yieldToEventLoop } from '../../../../ports/clock.ts'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import type { AmqpConnection, AmqpMessage } from '../../connection/amqp.ts'
import { resolveRabbitmq } from '../../options.ts'
import type { ConsumerChannel } from './consumer-channel.ts'
import type { SubscriptionContext } from './context.ts'
import { QueueReader } from './queue-reader.ts'

/** A server that has messages for a consumer and has forgotten that it is there. */
class ForgetfulChannel extends EventEmitter {
  ready = 5
  isClosed = false
  hand: (message: AmqpMessage | null) => void = () => {}
  prefetch = async () => {}
  ack = () => {}
  cancel = async () => {}
  checkQueue = async (queue: string) => ({ messageCount: queue.endsWith('.suspects') ? 0 : this.ready })
  consume = async (_: string, hand: (message: AmqpMessage | null) => void) => {
    this.hand = hand
    return { consumerTag: 'tag' }
  }
  close = async () => {
    this.isClosed = true
    this.emit('close')
  }
  deliver(deliveryTag: number): void {
    const fields = { deliveryTag, redelivered: false, exchange: '', routingKey: 'q' }
    this.hand({ content: Buffer.from('{}'), fields, properties: {} })
  }
}

async function readerOn(prefetch: number) {
  const clock = new FakeClock()
  const channels: ForgetfulChannel[] = []
  const connection = {
    createChannel: async () => {
      channels.push(new ForgetfulChannel())
      return channels.at(-1)
    },
  } as unknown as AmqpConnection
  const link = { server: 'amqp://test', get: async () => connection, onUp: () => () => {} }
  const news: SubscriptionStatus[] = []
  const received: (readonly [ConsumerChannel, AmqpMessage])[] = []
  const lost: ConsumerChannel[] = []
  let restored = 0
  const settings = resolveRabbitmq({ url: 'amqp://test', clock })
  const listener = {
    receive: (channel: ConsumerChannel, message: AmqpMessage) => void received.push([channel, message]),
    suspectsWait: () => {},
    lose: (channel: ConsumerChannel) => void lost.push(channel),
    switched: () => {},
  }
  const stalls = new StallReporter(each => news.push(each))
  const source = { broker: 'rabbitmq', channel: 'q', handler: 'q', queue: 'q', stalls }
  const topology = { restore: async () => void restored++, bind: async () => {} }
  const context = { settings, source, prefetch, link, topology } as unknown as SubscriptionContext
  const reader = new QueueReader(context, listener)
  await reader.open()
  await reader.switchTo('queue')
  return { clock, channels, news, received, lost, reader, restored: () => restored }
}

it('B7: a queue with messages whose free consumer gets none is consumed on another channel, and reported', async () => {
  const { clock, channels, news, received, reader, restored } = await readerOn(10)
  await clock.advance(3_900)
  expect(channels).toHaveLength(1)
  await clock.advance(1_000)
  expect(channels).toHaveLength(2)
  expect(restored()).toBe(1)
  expect(news).toMatchObject([{ state: 'stalled', place: 'deliveries' }])
  expect((news[0] as { error: Error }).error.message).toContain("queue 'q': messages are ready")
  channels[1]!.deliver(1)
  await clock.advance(2_000)
  expect(received).toHaveLength(1)
  expect(news.at(-1)).toEqual({ state: 'recovered', place: 'deliveries' })
  await reader.close()
})

it('B7: a message that is being handled when the channel is reopened can still be acknowledged', async () => {
  const { clock, channels, received, lost, reader } = await readerOn(10)
  channels[0]!.deliver(1)
  await clock.advance(6_000)
  expect(channels).toHaveLength(2)
  const [channel, message] = received[0]!
  expect([channel.isOpen, lost.length]).toEqual([true, 0])
  channel.settled(message)
  await clock.advance(1_000)
  expect([channels[0]!.isClosed, channel.isOpen, lost.length]).toEqual([true, false, 0])
  await reader.close()
})

it.each([
  ['the queue is empty', 0, 10],
  ['every place is taken', 5, 1],
])('B7: no channel is reopened while %s', async (_, ready, prefetch) => {
  const { clock, channels, news, reader } = await readerOn(prefetch)
  channels[0]!.ready = ready
  channels[0]!.deliver(1)
  await clock.advance(60_000)
  expect([channels.length, news]).toEqual([1, []])
  await reader.close()
})

it('B7: when reopening does not help, it is done less and less often', async () => {
  const { clock, channels, news, reader } = await readerOn(10)
  await clock.advance(60_000)
  const soon = channels.length
  await clock.advance(60_000)
  expect(soon).toBeGreaterThan(2)
  expect(channels.length - soon).toBeLessThan(soon)
  expect(news).toHaveLength(1)
  await reader.close()
})

it('B7: it is told that the stall is over when others have taken what waited', async () => {
  const { clock, channels, news, reader } = await readerOn(10)
  await clock.advance(5_000)
  channels[1]!.ready = 0
  await clock.advance(1_000)
  expect(news.map(({ state }) => state)).toEqual(['stalled', 'recovered'])
  await reader.close()
})

it('B7: what the server delivers while it is asked how much waits counts as delivered', async () => {
  const { clock, channels, news, reader } = await readerOn(10)
  const [channel] = channels
  let asked = 0
  channel!.checkQueue = async queue => {
    if (queue.endsWith('.suspects')) return { messageCount: 0 }
    if (++asked === 3) channel!.deliver(1)
    return { messageCount: 5 }
  }
  await clock.advance(5_000)
  expect([channels.length, news]).toEqual([1, []])
  await reader.close()
})

it('B7: no channel is reopened while as many are taken as AMQP can count, though more were wanted', async () => {
  const { clock, channels, news, reader } = await readerOn(100_000)
  for (let tag = 1; tag <= 65_535; tag++) channels[0]!.deliver(tag)
  await clock.advance(60_000)
  expect([channels.length, news]).toEqual([1, []])
  await reader.close()
})

it('B8: what flows has stopped when the server has heard so, and not before', async () => {
  const { channels, reader } = await readerOn(10)
  const answer = Promise.withResolvers<void>()
  channels[0]!.cancel = () => answer.promise
  const turning = reader.switchTo('none')
  await yieldToEventLoop()
  expect(reader.isAsWanted).toBe(false)
  answer.resolve()
  await turning
  expect(reader.isAsWanted).toBe(true)
  await reader.close()
})
