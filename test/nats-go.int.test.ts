import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streamsOf } from '../src/adapters/nats/broker/streams/names.ts'
import { nats as natsBroker } from '../src/adapters/nats/index.ts'
import { fixed } from '../src/core/retry/fixed.ts'
import { createConsumer, createEvent, type LazaretEvent } from '../src/index.ts'
import { findNats, type NatsService } from './services/nats.ts'
import { findGoClient, type GoMessage, publishByGo, readByGo } from './services/nats-go.ts'

const nats = await findNats()
const client = await findGoClient()
const why = nats.found ? (client.found ? '' : client.why) : nats.why

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

/** Messages of Go programs: a CloudEvent, one whose names of headers have capitals, JSON, bytes, nothing, a repeated header. */
function messagesFor(channel: string): readonly GoMessage[] {
  return [
    {
      subject: `${channel}.order.placed`,
      data: Buffer.from('{"total":12}'),
      headers: {
        'ce-specversion': ['1.0'],
        'ce-id': ['a-1'],
        'ce-type': ['order.placed'],
        'ce-source': ['/go'],
        'ce-partitionkey': ['customer-1'],
        'content-type': ['application/json'],
        tenant: ['blue'],
      },
    },
    {
      subject: `${channel}.order.paid`,
      data: Buffer.from('{"total":13}'),
      headers: {
        'Ce-Specversion': ['1.0'],
        'Ce-Id': ['a-2'],
        'Ce-Type': ['order.paid'],
        'Ce-Source': ['/go'],
        'Content-Type': ['application/json'],
      },
    },
    { subject: `${channel}.plain`, data: Buffer.from('{"total":14}'), headers: {} },
    { subject: `${channel}.bytes`, data: ALL_BYTES, headers: { Tenant: ['grün'] } },
    { subject: `${channel}.empty`, data: Buffer.alloc(0), headers: {} },
    { subject: `${channel}.words`, data: Buffer.from('plain words'), headers: { trace: ['one', 'two'] } },
  ]
}

describe.skipIf(why !== '')(`NATS beside the client of Go ${why}`, () => {
  let service: NatsService
  beforeAll(async () => {
    service = nats.found ? await nats.start() : (undefined as never)
  })
  afterAll(() => service?.close())

  const open = () => natsBroker({ url: service.url, retention: 'limits' })

  /** Handles what Go publishes to a channel, until so many attempts have ended. */
  async function handleGo(
    channel: string,
    attempts: number,
    handle: (event: LazaretEvent) => void,
  ): Promise<readonly GoMessage[]> {
    const messages = messagesFor(channel)
    const all = Promise.withResolvers<void>()
    let ended = 0
    const consumer = createConsumer({
      broker: open(),
      channel,
      name: 'bill',
      breaker: 'off',
      retryLimit: 'off',
      inProcessWaitMs: 0,
      retry: { attempts, backoff: fixed({ delayMs: 1, jitter: 'none' }) },
      observer: {
        eventProcessed: () => {
          if (++ended === messages.length * attempts) all.resolve()
        },
      },
      handle: async event => handle(event),
    })
    await consumer.start()
    await publishByGo(service.url, messages)
    await all.promise
    await consumer.close()
    return messages
  }

  it('"A client in another language publishes", our consumer reads', async () => {
    const events = new Map<string, LazaretEvent>()
    await handleGo('reading', 1, event => void events.set(event.id, event))
    const parts = ({ type, key, payload, headers }: LazaretEvent) => ({ type, key, payload, headers })
    // A message without an id of its own has the time at which it was stored in its id.
    const idWithoutTime = (id: string) => id.replace(/@\d{13}$/, '')
    expect(Object.fromEntries([...events].map(([id, event]) => [idWithoutTime(id), parts(event)]))).toEqual({
      'a-1': { type: 'order.placed', key: 'customer-1', payload: { total: 12 }, headers: { tenant: 'blue' } },
      'a-2': { type: 'order.paid', key: undefined, payload: { total: 13 }, headers: {} },
      'READING/3': { type: 'reading.plain', key: undefined, payload: { total: 14 }, headers: {} },
      'READING/4': {
        type: 'reading.bytes',
        key: undefined,
        payload: new Uint8Array(ALL_BYTES),
        headers: { Tenant: 'grün' },
      },
      'READING/5': { type: 'reading.empty', key: undefined, payload: new Uint8Array(), headers: {} },
      'READING/6': {
        type: 'reading.words',
        key: undefined,
        payload: new Uint8Array(Buffer.from('plain words')),
        headers: { trace: 'two' },
      },
    })
  })

  it('"reads our letters": a message of Go keeps its bytes and headers through a retry and as a dead letter', async () => {
    const messages = await handleGo('failing', 2, () => {
      throw new Error('the card was declined')
    })
    const letters = await readByGo(service.url, streamsOf('failing').letters, messages.length)
    const places = letters.map(({ headers }) => Number(headers['lazaret-original-sequence']?.[0]))
    expect(places.toSorted()).toEqual(messages.map((_, index) => index + 1))
    for (const [at, { subject, data, headers }] of letters.entries()) {
      const original = messages[places[at]! - 1]!
      expect(subject).toBe('lazaret.dlq.failing.bill')
      expect(data).toEqual(original.data)
      const own = Object.entries(headers).filter(([name]) => !/^(?:lazaret|Nats)-/.test(name))
      expect(Object.fromEntries(own)).toEqual(original.headers)
      expect(headers).toMatchObject({
        'lazaret-reason': ['attempts_exhausted'],
        'lazaret-attempts': ['2'],
        'lazaret-error': ['Error:%20the%20card%20was%20declined'],
        'lazaret-original-stream': ['FAILING'],
        'lazaret-original-subject': [original.subject],
      })
    }
  })

  it('"reads our messages": bytes, the subject of the type, and the headers of a CloudEvent', async () => {
    const events = [{ number: 1 }, new Uint8Array(ALL_BYTES), 'grün'].map((payload, number) =>
      createEvent({
        channel: 'publishing',
        type: 'order.placed',
        source: '/shop',
        key: `customer-${number}`,
        headers: { tenant: 'blue' },
        payload,
      }),
    )
    const broker = open()
    await broker.publish(events)
    await broker.close()
    const read = await readByGo(service.url, streamsOf('publishing').events, events.length)
    for (const [index, { subject, data, headers }] of read.entries()) {
      const { id, key, occurredAt, payload } = events[index]!
      expect(subject).toBe('publishing.order.placed')
      expect(data).toEqual(payload instanceof Uint8Array ? ALL_BYTES : Buffer.from(JSON.stringify(payload)))
      expect(headers).toMatchObject({
        'ce-specversion': ['1.0'],
        'ce-id': [id],
        'ce-type': ['order.placed'],
        'ce-source': ['/shop'],
        'ce-time': [new Date(occurredAt).toISOString()],
        'ce-partitionkey': [key],
        'content-type': [payload instanceof Uint8Array ? 'application/octet-stream' : 'application/json'],
        tenant: ['blue'],
      })
    }
  })
})
