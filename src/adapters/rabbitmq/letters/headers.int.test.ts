import { afterAll, describe, expect, it } from 'vitest'
import { rabbitmqWorld } from '../../../../test/support/rabbitmq-world.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import { rabbitmq } from '../broker/broker.ts'
import { onChannel } from '../broker/topology/declare.ts'
import { rawHeaders } from '../broker/wire/table.ts'
import type { AmqpHeaders, AmqpMessage } from '../connection/amqp.ts'
import { Link } from '../connection/link.ts'
import { Publisher } from '../connection/publisher.ts'
import { resolveRabbitmq } from '../options.ts'
import { rabbitmqCollector } from './collector.ts'

const { found, outside, url, why, timing, subscribe, make } = await rabbitmqWorld()
const settings = found.found ? resolveRabbitmq({ url }) : undefined
const looking = settings && new Link(settings, 'consuming')
const sending = settings && new Link(settings, 'publishing')
const publisher = sending && new Publisher(sending, settings)
afterAll(async () => {
  await looking?.close()
  await sending?.close()
})

/** Every type there is, and what clients get wrong. */
const HEADERS = {
  a: null,
  b: 5,
  c: true,
  d: { x: 1, y: { z: [1, 'two', null] } },
  e: -3,
  f: { '!': 'uint8', value: 253 },
  g: { '!': 'int64', value: 5 },
  h: { '!': 'long', value: '9223372036854775807' },
  i: { '!': 'float', value: 1.5 },
  j: { '!': 'double', value: 1e300 },
  k: { '!': 'timestamp', value: 1_700_000_000 },
  l: { '!': 'decimal', value: { places: 2, digits: 1234 } },
  m: Buffer.from([0xff, 0x00, 0xfe]),
  n: Buffer.from('text in bytes'),
  o: '',
  p: 'text',
  'a name with blanks': 'kept',
  q: [],
  r: {},
}

/** What lies in the queue, with the headers as they are on the wire. */
async function onTheWire(
  queue: string,
): Promise<{ readonly message: AmqpMessage; readonly headers: Map<string, string> }> {
  return await onChannel(await looking!.get(10_000), async channel => {
    const message = await channel.get(queue)
    if (message === false) throw new Error(`nothing in ${queue}`)
    const entries = rawHeaders(message.properties)!.filter(({ name }) => !/^x-/.test(name))
    return { message, headers: new Map(entries.map(({ name, value }) => [name, value.toString('hex')])) }
  })
}

async function collected(headers: object, properties: object = {}) {
  const queue = uniqueName('typed')
  const dlq = `${queue}.dlq`
  await onChannel(outside!.connection, async channel => {
    for (const name of [queue, dlq]) await channel.assertQueue(name, { durable: true, arguments: {} })
  })
  const sent = { messageId: 'm-1', headers: headers as AmqpHeaders, deliveryMode: 2, ...properties }
  const content = Buffer.from('{"order":1}')
  // Not with the client, which has 64 KiB for headers.
  if ('large' in headers)
    await publisher!.sendOne({ route: { exchange: '', routingKey: dlq }, content, properties: sent })
  else await outside!.publish('', dlq, content, sent)
  const before = await onTheWire(dlq)
  const store = memoryDeadLetters()
  const collector = rabbitmqCollector({ url, queues: [dlq], onError: () => {} })
  collector.start(store)
  await timing.eventually(async () => (await store.stats()).count === 1, 'collecting')
  const [letter] = (await store.list()).letters
  return { queue, before, collector, letter: letter! }
}

async function sentBack(headers: object, properties: object = {}, edits: Record<string, string> = {}) {
  const { queue, before, collector, letter } = await collected(headers, properties)
  expect(collector.routeOf!(letter, undefined)).toMatchObject({ kind: 'durable' })
  const { id: letterId, handler, event } = letter
  const replayed = replayHeaders(event, { letterId, handler, replayId: 'r-1' })
  await collector.send([{ ...event, headers: { ...replayed, ...edits } }], letter.origin)
  const after = await onTheWire(queue)
  await collector.close()
  return { before, after, letter }
}

describe.runIf(found.found)(`headers of other programs on RabbitMQ${why}`, () => {
  it('P2: every header comes back from a letter with the type and the bytes it had', async () => {
    const { before, after, letter } = await sentBack(HEADERS)
    expect(after.headers).toEqual(before.headers)
    expect(before.headers.size).toBe(Object.keys(HEADERS).length)
    expect(letter.event.headers).toMatchObject({
      a: '',
      b: '5',
      c: 'true',
      e: '-3',
      h: '9223372036854775807',
      p: 'text',
    })
    // An origin is shown to everyone: it has types and names of headers, and no values.
    expect(JSON.stringify(letter.origin)).not.toMatch(/9223372036854775807|two|text in bytes/)
  })

  it('P2: a header of 100 KB comes back whole', async () => {
    const { before, after } = await sentBack({ large: 'x'.repeat(100_000), count: 5 })
    expect(after.headers).toEqual(before.headers)
  })

  it('P2: properties come back, and those that the server acts upon do not', async () => {
    const properties = {
      contentType: 'application/json',
      contentEncoding: 'utf-8',
      correlationId: 'c-1',
      replyTo: 'answers',
      priority: 7,
      type: 'order.paid',
      appId: 'shop',
      timestamp: 1_700_000_000,
      userId: 'guest',
      expiration: '600000',
    }
    const { userId: _, expiration: __, ...kept } = properties
    const { after } = await sentBack({ count: 5 }, properties)
    expect(after.message.properties).toMatchObject({ ...kept, messageId: 'm-1' })
    expect(after.message.properties).toMatchObject({ userId: undefined, expiration: undefined })
  })

  it('B13: a header that was edited keeps its type where it can', async () => {
    const { after } = await sentBack({ b: 5, c: true }, {}, { b: '6', c: 'perhaps' })
    expect(after.message.properties.headers).toMatchObject({ b: 6, c: 'perhaps' })
    expect(after.headers.get('b')).toBe('6206')
  })

  it('P2: a header that cannot be kept is refused by the plan, with the reason, and the letter says so', async () => {
    const { collector, letter } = await collected({ ['x'.repeat(200)]: 'y', b: 5 })
    expect(letter.origin['unkeptHeaders']).toContain('has a name that a letter cannot store')
    expect(collector.routeOf!(letter, undefined)).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('has a name that a letter cannot store'),
    })
    expect(collector.routeOf!(letter, 'elsewhere')).toMatchObject({ kind: 'durable' })
    await collector.close()
  })

  it('P2: headers keep their types through the retries of a consumer', async () => {
    const channel = uniqueName('typed')
    const broker = rabbitmq({ url, queueType: 'classic' })
    const inbox = await subscribe(broker, channel)
    inbox.subscription.pause()
    await timing.eventually(async () => (await outside!.consumers(channel)) === 0, 'pausing')
    await outside!.publish('', channel, Buffer.from('{}'), { messageId: 'm-1', headers: HEADERS })
    const before = await onTheWire(channel)
    inbox.subscription.resume()
    const delivery = await inbox.next()
    const settlement = { outcome: 'retry', notBefore: 0, ended: [make.attempt(1)] } as const
    inbox.subscription.pause()
    await timing.eventually(async () => (await outside!.consumers(channel)) === 0, 'pausing')
    await inbox.subscription.settle(delivery, settlement)
    const after = await onTheWire(channel)
    after.headers.delete('lazaret-log')
    expect(after.headers).toEqual(before.headers)
    await broker.close()
  })
})
