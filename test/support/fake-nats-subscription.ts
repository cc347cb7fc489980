import { StallReporter } from '../../src/adapter-kit/delivery/stalls.ts'
import type { SubscriptionContext } from '../../src/adapters/nats/broker/consume/context.ts'
import type { Entry, NatsDelivery } from '../../src/adapters/nats/broker/consume/entry.ts'
import { Intake } from '../../src/adapters/nats/broker/consume/intake.ts'
import { NatsSubscription } from '../../src/adapters/nats/broker/consume/subscription.ts'
import { KeyOrder } from '../../src/adapters/nats/broker/ordered/key-order.ts'
import { namesOf, subjectsOf } from '../../src/adapters/nats/broker/streams/names.ts'
import { Streams } from '../../src/adapters/nats/broker/streams/streams.ts'
import type { NatsConnection, NatsMessage } from '../../src/adapters/nats/connection/client.ts'
import type { JetStream } from '../../src/adapters/nats/connection/jetstream.ts'
import { NANOSECONDS_PER_MS } from '../../src/adapters/nats/connection/nanoseconds.ts'
import type { OutgoingMessage } from '../../src/adapters/nats/connection/publisher.ts'
import { resolveNats } from '../../src/adapters/nats/options.ts'
import type { SubscriptionStatus } from '../../src/ports/broker.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

const CHANNEL = 'orders'
const NEW_CONSUMER = {
  name: 'bill',
  created: '2026-01-01T00:00:01Z',
  config: {},
  num_ack_pending: 0,
  num_pending: 0,
  delivered: { stream_seq: 0, consumer_seq: 0 },
  ack_floor: { stream_seq: 0, consumer_seq: 0 },
}
const NEVER = new Promise<never>(() => {})
const CREATED = '2026-01-01T00:00:00Z'

/** The messages of the channel's stream: the time of each by its sequence. */
class FakeStream {
  readonly clock: FakeClock
  readonly times = new Map<number, number>()
  lastSequence = 0
  created = CREATED
  replicas = 1

  constructor(clock: FakeClock) {
    this.clock = clock
  }

  store(count: number): void {
    for (let more = count; more > 0; more--) this.times.set(++this.lastSequence, this.clock.now())
  }

  /** The server has lost the end of the stream, from this sequence on. */
  lose(from: number): void {
    for (let sequence = from; sequence <= this.lastSequence; sequence++) this.times.delete(sequence)
    this.lastSequence = from - 1
  }

  /** A server that was behind has caught up. */
  find(sequence: number, storedAt: number): void {
    this.times.set(sequence, storedAt)
    this.lastSequence = sequence
  }

  /** A killed server has forgotten how far it had counted. */
  restart(): void {
    this.times.clear()
    this.lastSequence = 0
  }

  get info() {
    const [first] = this.times
    return {
      config: {
        name: namesOf(CHANNEL, 'bill').streams.events,
        subjects: [subjectsOf(CHANNEL).events],
        retention: 'interest',
        num_replicas: this.replicas,
      },
      created: this.created,
      state: {
        messages: this.times.size,
        first_seq: first?.[0] ?? this.lastSequence + 1,
        first_ts: new Date(first?.[1] ?? 0).toISOString(),
        last_seq: this.lastSequence,
        last_ts: new Date(this.times.get(this.lastSequence) ?? 0).toISOString(),
      },
    }
  }
}

/** What the parts of a subscription share. The test plays the server and the connection. */
async function createContext(prefetch: number) {
  const clock = new FakeClock()
  const stream = new FakeStream(clock)
  const names = namesOf(CHANNEL, 'bill')
  const settings = resolveNats({ url: 'nats://localhost', clock, random: seededRandom(1) })
  const statuses: SubscriptionStatus[] = []
  const sent: string[] = []
  const deliveries: NatsDelivery[] = []
  const pulls: number[] = []
  let latestPull = ''
  const callbacks = new Map<string, (error: null, message: NatsMessage) => void>()
  /** Requests of JetStream fail or wait as the test says. */
  const server = {
    failure: undefined as Error | undefined,
    answered: Promise.resolve(),
    isWithoutConsumers: false,
    /** The consumer of the channel's stream. One that is made again is another one. */
    consumer: NEW_CONSUMER,
    /** How often the consumer of the channel's stream was made again. */
    consumersMade: 0,
    /** Messages with attempts in their headers fit. */
    hasRoom: true,
  }
  const published: OutgoingMessage[] = []

  const connection = {
    flush: async () => {},
    publish(subject: string, payload: string, { reply }: { reply: string }) {
      if (!subject.includes(`MSG.NEXT.${names.streams.events}.`)) return
      pulls.push(JSON.parse(payload).batch)
      latestPull = reply
    },
    subscribe(subject: string, { callback }: { callback: (error: null, message: NatsMessage) => void }) {
      callbacks.set(subject, callback)
      return { unsubscribe: () => callbacks.delete(subject), drain: async () => {} }
    },
  } as unknown as NatsConnection
  const listeners = new Set<(connection: NatsConnection) => void>()
  const link = {
    current: connection as NatsConnection | undefined,
    get: async () => connection,
    newInbox: () => `inbox${listeners.size}`,
    onUp(listener: (connection: NatsConnection) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    send(subject: string, word: string) {
      if (link.current !== undefined) sent.push(`${word} ${sequenceOf(subject)}`)
    },
    lose() {
      link.current = undefined
    },
    restore() {
      link.current = connection
      for (const listener of [...listeners]) listener(connection)
    },
  }

  const answer = async <T>(value: T): Promise<T> => {
    const { failure, answered } = server
    await answered
    if (failure !== undefined) throw failure
    return value
  }
  const jetstream = {
    streamInfo: (name: string) => answer(name === names.streams.events ? stream.info : otherStream(name)),
    consumerInfo: (name: string) =>
      server.isWithoutConsumers
        ? NEVER
        : answer(name === names.streams.events ? server.consumer : NEW_CONSUMER),
    consumerNames: () => answer(['bill']),
    createTemporaryConsumer: () => answer('guard'),
    deleteConsumer: () => answer(undefined),
    deleteMessage: () => answer(undefined),
    publish: () => answer(undefined),
    createConsumer: async () => {
      await answer(undefined)
      server.consumersMade++
      server.consumer = { ...NEW_CONSUMER, created: `2026-01-01T00:01:0${server.consumersMade}Z` }
    },
    message: (name: string, { seq, last_by_subj }: { seq: number; last_by_subj?: string }) => {
      if (last_by_subj !== undefined) {
        const last = published.findLastIndex(({ subject }) => subject === last_by_subj)
        const stored = { ...published[last], sequence: last + 1, storedAt: clock.now() }
        return answer(last < 0 ? undefined : stored)
      }
      const storedAt = name === names.streams.events ? stream.times.get(seq) : undefined
      return answer(storedAt === undefined ? undefined : { sequence: seq, storedAt })
    },
  } as unknown as JetStream
  const streams = new Streams(jetstream, settings)
  for (const kind of ['events', 'retries', 'state', 'letters'] as const) await streams.need(CHANNEL, kind)

  const context = {
    settings,
    link,
    jetstream,
    streams,
    names,
    prefetch,
    ackWaitMs: settings.ackWaitMs,
    id: 'one',
    publisher: {
      fits: () => server.hasRoom,
      publish: async (messages: readonly OutgoingMessage[]) =>
        messages.map(message => published.push(message)),
    },
    persist: async (_: () => boolean, __: string, work: () => Promise<void>) => {
      await work()
      return true
    },
    deliver: (delivery: NatsDelivery) => deliveries.push(delivery),
    stalls: new StallReporter(status => statuses.push(status)),
    forget: () => {},
  } as unknown as SubscriptionContext
  /** The server delivers a message that its stream has. */
  const deliver = (sequence: number, deliveries = 1) => {
    const time = stream.times.get(sequence)! * NANOSECONDS_PER_MS
    const reply = `$JS.ACK.${names.streams.events}.bill.${deliveries}.${sequence}.${sequence}.${time}.0`
    const [callback] = callbacks.values()
    callback!(null, { subject: `${CHANNEL}.order.placed`, reply, data: new Uint8Array() })
  }
  /** The time of the latest request for events is over. */
  const expirePull = () => {
    const [callback] = callbacks.values()
    const headers = Object.assign([], { code: 408, description: 'Request Timeout' })
    callback!(null, { subject: latestPull, data: new Uint8Array(), headers })
  }
  /** The server delivers a retry. */
  const deliverRetry = (
    { subject, headers, data }: OutgoingMessage,
    sequence: number,
    deliveries: number,
  ) => {
    const time = clock.now() * NANOSECONDS_PER_MS
    const reply = `$JS.ACK.${names.streams.retries}.bill.${deliveries}.${sequence}.${sequence}.${time}.0`
    const [, callback] = callbacks.values()
    const list = headers.map(([name, value]) => [name, [value]] as const)
    callback!(null, { subject, reply, data, headers: Object.assign(list, { code: 0, description: '' }) })
  }
  const world = { clock, stream, server, link, sent, published, pulls, statuses, deliveries }
  return { context, ...world, deliver, expirePull, deliverRetry }
}

/** The intake of a subscription, and what has arrived. */
export async function createIntakeWorld({ prefetch = 10 } = {}) {
  const { context, ...world } = await createContext(prefetch)
  const entries: Entry[] = []
  const intake: Intake = new Intake(context, {
    room: source => prefetch - intake.count(source),
    arrived: entry => entries.push(entry),
  })
  await intake.open()
  intake.resume()
  return { ...world, entries, intake }
}

/** A subscription without order, and what it has delivered. */
export async function createSubscriptionWorld() {
  const { context, ...world } = await createContext(10)
  const subscription = new NatsSubscription(context)
  await subscription.open()
  subscription.resume()
  return { ...world, subscription }
}

/** The owner of the order of a handler, and what it has delivered. */
export async function createKeyOrderWorld() {
  const { context, ...world } = await createContext(10)
  const order = new KeyOrder(context, false, () => true)
  await order.open()
  order.resume()
  await world.clock.advance(100)
  return { ...world, order }
}

function otherStream(name: string) {
  const kinds = namesOf(CHANNEL, 'bill').streams
  const kind = (['retries', 'state', 'letters'] as const).find(each => kinds[each] === name)!
  return {
    config: {
      name,
      subjects: [subjectsOf(CHANNEL)[kind]],
      retention: kind === 'retries' ? 'workqueue' : 'limits',
      num_replicas: 1,
    },
    created: CREATED,
    state: { messages: 0, first_seq: 1, last_seq: 0 },
  }
}

function sequenceOf(ackSubject: string): number {
  return Number(ackSubject.split('.')[5])
}
