import { kafka } from '../../../src/adapters/kafka/index.ts'
import { namesOf } from '../../../src/adapters/nats/broker/streams/names.ts'
import { nats } from '../../../src/adapters/nats/index.ts'
import { postgresDeadLetters, postgresOutbox } from '../../../src/adapters/postgres/index.ts'
import { withAdmin } from '../../../src/adapters/rabbitmq/admin.ts'
import { redisDeadLetters, redisStreams } from '../../../src/adapters/redis/index.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import { findKafka, type KafkaService } from '../../services/kafka.ts'
import { findNats, type NatsService } from '../../services/nats.ts'
import { findPostgres, type PostgresService } from '../../services/postgres.ts'
import { findRabbitmq, type RabbitmqService } from '../../services/rabbitmq.ts'
import { findRedis, type RedisService } from '../../services/redis.ts'
import { OutsideKafka } from '../../support/outside-kafka.ts'
import { OutsideNats } from '../../support/outside-nats.ts'
import { TestDatabase } from '../../support/postgres.ts'
import { lettersIn, lettersOnRabbitmq } from '../campaign/letters.ts'
import { FAST_DETECTION as FAST_KAFKA, PARTITIONS, SESSION_CONFIG } from '../kafka/settings.ts'
import { clusterOf, FAST_DETECTION as FAST_NATS } from '../nats/settings.ts'
import { DIRECT_PORT } from './namespaces.ts'
import { type BrokerName, CHANNEL } from './plan.ts'

/** A server as the campaign sees it from the host of the server, where no fault is between them. */
export interface ServerUnderTest {
  /** With the loopback address, or with the address of the host on the network. */
  readonly url: string
  /** The event id of every letter. */
  letters(): Promise<readonly string[]>
  /** Events that are neither handled nor dead. */
  left(): Promise<number>
  /** The event of each effect, if handlers write their effects to the server. */
  effects?(): Promise<readonly string[]>
  /** Without warning. */
  kill(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

type Found<S> =
  | { readonly found: false; readonly why: string }
  | { readonly found: true; readonly isPrivate: boolean; start(): Promise<S> }

/** `address` is that of the server's host on the network. */
export const SERVERS: Readonly<Record<BrokerName, (address: string) => Promise<Found<ServerUnderTest>>>> = {
  rabbitmq: async () => under(await findRabbitmq(), rabbitmqServer),
  postgres: async () => under(await findPostgres(), postgresServer),
  redis: async () => under(await findRedis(), redisServer),
  async kafka(address) {
    const found = await findKafka()
    // A broker tells its clients where to connect, so it listens on the network too.
    const config = {
      ...SESSION_CONFIG,
      listeners: `NETWORK://${address}:${DIRECT_PORT}`,
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,NETWORK:PLAINTEXT',
      'inter.broker.listener.name': 'PLAINTEXT',
    }
    const started = found.found ? { ...found, start: () => found.start({ config }) } : found
    return under(started, service => kafkaServer(service, `${address}:${DIRECT_PORT}`))
  },
  async nats() {
    const found = await findNats()
    // A single server that was killed has forgotten what it had not written to disk.
    const started = found.found ? { ...found, start: () => found.start(clusterOf('always', 1)) } : found
    return under(started, natsServer)
  },
}

function under<S>(found: Found<S>, open: (service: S) => Promise<ServerUnderTest>): Found<ServerUnderTest> {
  return found.found ? { ...found, start: async () => open(await found.start()) } : found
}

async function rabbitmqServer({ url, node, close }: RabbitmqService): Promise<ServerUnderTest> {
  await withAdmin({ url }, admin => admin.declare(CHANNEL, CHANNEL))
  // The server of Debian 12 can forget who leads a quorum queue that was declared right before a kill.
  await node!.stop()
  await node!.start()
  return {
    url,
    letters: () => lettersOnRabbitmq(url, CHANNEL),
    async left() {
      const { ready = 0, waiting, suspects } = await withAdmin({ url }, admin => admin.status(CHANNEL))
      return ready + waiting + suspects
    },
    kill: () => node!.kill(),
    start: () => node!.start(),
    close,
  }
}

async function postgresServer(service: PostgresService): Promise<ServerUnderTest> {
  const database = await TestDatabase.migrated(service)
  const { url, pool } = database
  await pool.query('create table effects (event uuid)')
  const outbox = postgresOutbox({ pool })
  await registerHandler(outbox)
  return {
    url,
    letters: () => lettersIn(postgresDeadLetters({ pool }), CHANNEL),
    left: () => outbox.depth(CHANNEL, CHANNEL),
    effects: async () =>
      (await database.rows<{ event: string }>('select event from effects')).map(row => row.event),
    kill: () => service.node!.crash(),
    start: () => service.node!.start(),
    async close() {
      await outbox.close()
      // The server may have sessions of killed clients, which nothing waits for.
      await pool.end()
      await service.close()
    },
  }
}

async function redisServer({ url, node, close }: RedisService): Promise<ServerUnderTest> {
  const broker = redisStreams({ url })
  await registerHandler(broker)
  return {
    url,
    letters: () => lettersIn(redisDeadLetters({ url }), CHANNEL),
    left: () => broker.depth(CHANNEL, CHANNEL),
    kill: () => node!.kill(),
    start: () => node!.start(),
    async close() {
      await broker.close()
      await close()
    },
  }
}

async function kafkaServer(service: KafkaService, url: string): Promise<ServerUnderTest> {
  const { brokers, nodes } = service
  const broker = kafka({ brokers, partitions: PARTITIONS, ...FAST_KAFKA })
  await registerHandler(broker)
  const outside = new OutsideKafka(brokers)
  return {
    url,
    letters: async () => (await outside.letters(`${CHANNEL}.${CHANNEL}.dlq`)).map(({ event }) => event.id),
    left: () => broker.depth(CHANNEL, CHANNEL),
    kill: () => nodes[0]!.kill(),
    start: () => nodes[0]!.start(),
    async close() {
      await outside.close()
      await broker.close()
      await service.close()
    },
  }
}

async function natsServer(service: NatsService): Promise<ServerUnderTest> {
  const { url, nodes } = service
  const broker = nats({ url, ...FAST_NATS, replicas: 1 })
  await registerHandler(broker)
  const outside = new OutsideNats(url)
  const { letters } = namesOf(CHANNEL, CHANNEL).streams
  return {
    url,
    letters: async () => (await outside.letters(letters)).map(({ event }) => event.id),
    left: () => broker.depth(CHANNEL, CHANNEL),
    kill: () => nodes[0]!.kill(),
    start: () => nodes[0]!.start(),
    async close() {
      await outside.close()
      await broker.close()
      await service.close()
    },
  }
}

/** The first subscription creates topics or streams, and from then on no event is without a handler. */
async function registerHandler(broker: Broker): Promise<void> {
  const known = { channel: CHANNEL, handler: CHANNEL, prefetch: 1, ordering: 'none' } as const
  await (await broker.subscribe(known, () => {})).close()
}
