import { expect, it } from 'vitest'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { memoryDeadLetters } from '../../memory/dead-letters.ts'
import type { AmqpMessage } from '../amqp.ts'
import { resolveCollector } from './options.ts'
import { Saver } from './saver.ts'

function message(body: string): AmqpMessage {
  return {
    content: Buffer.from(body),
    fields: { deliveryTag: 1, redelivered: false, exchange: '', routingKey: 'orders.dlq' },
    properties: { messageId: 'one', headers: {}, contentType: 'application/json' },
  } as unknown as AmqpMessage
}

it('P2: of two collectors that find different bodies under one message id at once, both keep theirs', async () => {
  const clock = new FakeClock()
  const store = memoryDeadLetters()
  const settings = resolveCollector({ url: 'amqp://test', queues: ['orders.dlq'], clock })
  const bodies = ['{"n":1}', '{"n":2}', '{"n":-0}']
  // Nobody writes before all have read that there is nothing yet.
  const allHaveRead = Promise.withResolvers<void>()
  let reads = 0
  const get = async (id: string) => {
    const found = await store.get(id)
    if (++reads === bodies.length) allHaveRead.resolve()
    await allHaveRead.promise
    return found
  }
  const shared = { ...store, get, send: store.send.bind(store) } as typeof store
  const collect = (body: string) => new Saver(settings, shared).save(message(body), 'orders.dlq', () => true)
  const kept = async () =>
    (await store.list()).letters.map(({ event }) => JSON.stringify(event.payload)).sort()
  await Promise.all(bodies.map(collect))
  expect(await kept()).toEqual(['{"n":0}', '{"n":1}', '{"n":2}'])
  for (const body of bodies) await collect(body)
  expect(await kept(), 'found again, each comes to the letter that it has').toHaveLength(3)
})
