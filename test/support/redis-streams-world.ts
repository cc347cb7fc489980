import { afterAll, afterEach } from 'vitest'
import { type RedisStreams, type RedisStreamsOptions, redisStreams } from '../../src/adapters/redis/index.ts'
import type { Broker, SubscribeOptions } from '../../src/ports/broker.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import { Inbox } from '../../src/testing/conformance/broker/world.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findRedis } from '../services/redis.ts'
import type { RedisConfig } from '../services/redis-node.ts'

/** A server of its own for the tests of one file, and what they wait and make events with. Brokers are closed after each test. */
export async function redisStreamsWorld(config?: RedisConfig) {
  const found = await findRedis()
  const isOurs = found.found && found.isPrivate
  const server = isOurs ? await found.start(config) : undefined
  const timing = new TestTiming({})
  const brokers: Broker[] = []
  const node = server?.node
  afterEach(async () => {
    node?.thaw()
    await node?.start()
    for (const broker of brokers.splice(0)) await broker.close()
  })
  afterAll(async () => await server?.close())
  return {
    isOurs,
    why: isOurs ? '' : ` (skipped: ${found.found ? 'the server is not ours to stop' : found.why})`,
    node: node!,
    url: server?.url ?? '',
    timing,
    make: createFactory({ clock: systemClock, random: systemRandom }),
    open(options: Partial<RedisStreamsOptions> = {}): RedisStreams {
      const broker = redisStreams({ url: server!.url, maxPollMs: 200, ...options })
      brokers.push(broker)
      return broker
    },
    async subscribe(
      broker: Broker,
      channel: string,
      options: Partial<SubscribeOptions> = {},
    ): Promise<Inbox> {
      const inbox = new Inbox(timing)
      const wanted = { channel, handler: 'bill', prefetch: 10, ordering: 'none', ...options } as const
      inbox.subscription = await broker.subscribe(wanted, delivery => inbox.receive(delivery))
      return inbox
    },
  }
}
