import { describe, expect, it } from 'vitest'
import { rabbitmqWorld } from '../../../test/support/rabbitmq-world.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { CATEGORIES } from '../../core/failure/classification.ts'
import { PermanentError, TransientError } from '../../core/failure/signals.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { memoryStore } from '../memory/index.ts'
import { onChannel } from './broker/topology/declare.ts'
import { type RabbitmqOptions, rabbitmq, rabbitmqCollector } from './index.ts'

const { found, outside, url, why, timing, make } = await rabbitmqWorld()

/** Handles no event: the payload names the category of its failure, or `poison`. */
async function failAll(
  channel: string,
  payloads: readonly string[],
  queueType: 'quorum' | 'classic',
  more: Pick<RabbitmqOptions, 'deadLetterQueue' | 'deadLetterQueues'> = {},
) {
  const saved: DeadLetter[] = []
  const broker = rabbitmq({ url, queueType, deadLetterQueues: 'by-category', ...more })
  const consumer = createConsumer<string>({
    broker,
    channel,
    breaker: 'off',
    retry: { attempts: 2 },
    poison: { repeats: 2 },
    random: () => 0,
    inProcessWaitMs: 2_000,
    observer: { letterSaved: ({ letter }) => void saved.push(letter) },
    handle: ({ payload }) => {
      if (payload === 'poison') throw new TransientError('always the same', { category: 'business' })
      throw new PermanentError('refused', { category: payload as (typeof CATEGORIES)[number] })
    },
  })
  await consumer.start()
  await broker.publish(payloads.map(payload => make.event({ channel, payload })))
  await timing.eventually(() => saved.length === payloads.length, 'every event is a letter')
  return { broker, consumer, saved }
}

describe.runIf(found.found)(`RabbitMQ dead-letter queues${why}`, () => {
  it.each(['quorum', 'classic'] as const)(
    'K2, R5: by category, each letter is in the %s queue of its category, and poison is in quarantine',
    async queueType => {
      const channel = uniqueName('orders')
      const { broker, consumer } = await failAll(channel, [...CATEGORIES, 'schema', 'poison'], queueType)
      for (const category of CATEGORIES) {
        const letters = await outside!.letters(`${channel}.dlq.${category}`)
        expect(letters.map(({ event }) => event.payload)).toEqual(
          category === 'schema' ? [category, category] : [category],
        )
        expect(letters[0]!.cycle.category).toBe(category)
      }
      expect(await outside!.depth(`${channel}.dlq`)).toBe(0)
      const [poison] = await outside!.letters(`${channel}.dlq.quarantine.business`)
      expect(poison).toMatchObject({ event: { payload: 'poison' }, cycle: { reason: 'poison' } })
      await timing.eventually(async () => {
        const depths = await broker.deadLetterDepths(channel, channel)
        return depths.reduce((sum, { depth }) => sum + depth, 0) === 7
      }, 'all letters are counted')
      await consumer.close()
    },
  )

  it('K2, R5: a collector takes the letters of a category, and a replay goes to the queue that failed', async () => {
    const channel = uniqueName('orders')
    const { consumer } = await failAll(channel, ['transient', 'schema'], 'classic')
    await consumer.close()
    const queues = [`${channel}.dlq.transient`, `${channel}.dlq.schema`]
    const collector = rabbitmqCollector({ url, queues, pollIntervalMs: 50 })
    const { deadLetters } = memoryStore()
    collector.start(deadLetters)
    await timing.eventually(async () => (await deadLetters.stats()).count === 2, 'both letters are collected')
    const { letters } = await deadLetters.list()
    for (const letter of letters)
      expect(letter).toMatchObject({ channel, handler: channel, cycle: { category: letter.event.payload } })
    const [{ event, origin }] = letters as [DeadLetter]
    await collector.send([event], origin)
    await timing.eventually(async () => (await outside!.depth(channel)) === 1, 'it is back in its queue')
    await collector.close()
  })

  it.each(['one', 'by-category'] as const)(
    'R15: letters, poison and messages that the server gives up on go to the queues of another name (%s)',
    async deadLetterQueues => {
      const channel = uniqueName('orders')
      const more = { deadLetterQueue: 'failed.{queue}', deadLetterQueues }
      const { broker, consumer } = await failAll(channel, ['schema', 'poison'], 'quorum', more)
      const kept = deadLetterQueues === 'one' ? `failed.${channel}` : `failed.${channel}.schema`
      const poison = `failed.${channel}.quarantine.business`
      expect((await outside!.letters(kept)).map(({ event }) => event.payload)).toEqual(['schema'])
      expect((await outside!.letters(poison)).map(({ event }) => event.payload)).toEqual(['poison'])
      const depths = async () =>
        (await broker.deadLetterDepths(channel, channel)).filter(({ depth }) => depth > 0)
      await timing.eventually(async () => (await depths()).length === 2, 'both letters are counted')
      await consumer.close()
      // Of a queue without consumers, the server itself dead-letters a message that expires.
      await outside!.publish('', channel, Buffer.from('{}'), { expiration: '1' })
      const isThere = async () =>
        (await outside!.depth(`failed.${channel}`)) === (deadLetterQueues === 'one' ? 2 : 1)
      await timing.eventually(isThere, 'the server knows the queue of that name')
      for (const name of [`${channel}.dlq`, `${channel}.dlq.schema`, `${channel}.dlq.quarantine.business`])
        await expect(outside!.depth(name)).rejects.toThrow('NOT_FOUND')
      const queues = [...new Set([`failed.${channel}`, kept, poison])]
      const collector = rabbitmqCollector({ url, queues, pollIntervalMs: 50 })
      const { deadLetters } = memoryStore()
      collector.start(deadLetters)
      await timing.eventually(async () => (await deadLetters.stats()).count === 3, 'all are collected')
      const { letters } = await deadLetters.list()
      for (const letter of letters) expect(letter).toMatchObject({ channel, handler: channel })
      const { event, origin } = letters.find(each => each.event.payload === 'schema')!
      await collector.send([event], origin)
      await timing.eventually(async () => (await outside!.depth(channel)) === 1, 'it is back in its queue')
      await collector.close()
    },
  )

  it('K9: the server deletes letters after deadLetterTtlMs, of all dead-letter queues, and keeps them without it', async () => {
    const [short, forever] = [uniqueName('short'), uniqueName('forever')]
    const ttlMs = 1_000
    for (const [channel, deadLetterTtlMs] of [
      [short, ttlMs],
      [forever, undefined],
    ] as const)
      for (const deadLetterQueues of ['one', 'by-category'] as const) {
        const saved: DeadLetter[] = []
        const broker = rabbitmq({ url, deadLetterTtlMs, deadLetterQueues })
        const consumer = createConsumer({
          broker,
          channel,
          observer: { letterSaved: ({ letter }) => void saved.push(letter) },
          handle: () => {
            throw new PermanentError('refused', { category: 'schema' })
          },
        })
        await consumer.start()
        await broker.publish([make.event({ channel })])
        await timing.eventually(() => saved.length === 1, 'the event is a letter')
        await consumer.close()
      }
    const depths = (channel: string) =>
      Promise.all([`${channel}.dlq`, `${channel}.dlq.schema`].map(queue => outside!.depth(queue)))
    await timing.eventually(async () => (await depths(short)).join() === '0,0', 'the letters have expired')
    await timing.eventually(async () => (await depths(forever)).join() === '1,1', 'the letters are kept')
    // The server would refuse another TTL.
    const args = { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000, 'x-message-ttl': ttlMs }
    const declare = (ttl: number) =>
      onChannel(outside!.connection, channel =>
        channel.assertQueue(`${short}.dlq.schema`, {
          durable: true,
          arguments: { ...args, 'x-message-ttl': ttl },
        }),
      )
    await declare(ttlMs)
    await expect(declare(ttlMs + 1)).rejects.toThrow('x-message-ttl')
  })
})
