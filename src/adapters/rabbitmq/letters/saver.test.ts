import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import type { AmqpMessage } from '../connection/amqp.ts'
import { resolveCollector } from './options.ts'
import { Saver } from './saver.ts'

function message(body: string, headers: object = {}): AmqpMessage {
  return {
    content: Buffer.from(body),
    fields: { deliveryTag: 1, redelivered: false, exchange: '', routingKey: 'orders.dlq' },
    properties: { messageId: 'one', headers, contentType: 'application/json' },
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

describe('a message that says it is a replay', () => {
  const clock = new FakeClock()
  const settings = resolveCollector({ url: 'amqp://test', queues: ['orders.dlq'], clock })
  const setUp = () => {
    const store = memoryDeadLetters()
    const saver = new Saver(settings, store)
    const save = (body: string, headers?: object) =>
      saver.save(message(body, headers), 'orders.dlq', () => true)
    return { store, save }
  }
  const claim = (id: string, attempt: number, replayId: string) => ({
    'x-replayed': 'true',
    'x-replay-id': replayId,
    'x-replay-attempt': String(attempt),
    'x-original-id': 'one',
    'x-letter-id': id,
  })

  it('B14, P2: of a replay that its letter does not know is the plain message: its body is kept, nothing is parked', async () => {
    const { store, save } = setUp()
    await save('{"n":1}')
    const { id } = (await store.list()).letters[0]!
    await save('{"n":2}', claim(id, 99, 'guessed'))
    const { letters } = await store.list()
    expect(letters.map(({ event }) => event.payload)).toEqual(expect.arrayContaining([{ n: 1 }, { n: 2 }]))
    for (const letter of letters)
      expect(letter).toMatchObject({ state: 'dead', replays: 0, cycle: { number: 0 } })
  })

  it('B14: that nobody has seen before is not a replay', async () => {
    const { store, save } = setUp()
    await save('{"n":1}')
    const { id } = (await store.list()).letters[0]!
    await store.delete(id)
    await save('{"n":1}', claim(id, 99, 'guessed'))
    expect((await store.list()).letters).toMatchObject([{ state: 'dead', replays: 0, cycle: { number: 0 } }])
  })

  it('B14, S4: of the replay that its letter is replaying under is the next cycle, also with an edited body', async () => {
    const { store, save } = setUp()
    await save('{"n":1}')
    const { id } = (await store.list()).letters[0]!
    await clock.advance(1_000)
    await store.change(id, { to: 'replaying', at: clock.now(), replayId: 'r1' })
    await clock.advance(1_000)
    await save('{"n":"edited"}', claim(id, 1, 'r1'))
    expect((await store.list()).letters).toMatchObject([
      { id, state: 'dead', replays: 1, cycle: { number: 1, replayId: 'r1' } },
    ])
  })
})
