import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findRedis } from '../../../../test/services/redis.ts'
import { startCluster } from '../../../../test/support/redis-cluster.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { brokerConformance } from '../../../testing/conformance/broker.ts'
import type { RedisStreamsOptions } from '../options.ts'
import { redisDeadLetters } from '../store.ts'
import { eventsKey } from './keys.ts'
import { redisStreams } from './streams.ts'

const redis = await findRedis()
const why = redis.found ? '' : ` (skipped: ${redis.why})`
const closing: (() => unknown)[] = []
let alone: RedisStreamsOptions
let clustered: RedisStreamsOptions
/** Adds entries to a stream that are not events. */
const adding = new Map<RedisStreamsOptions, (stream: string, raw: Buffer) => Promise<unknown>>()

beforeAll(async () => {
  if (!redis.found) return
  const server = await redis.start()
  const client = createClient({ url: server.url })
  await client.connect()
  alone = { url: server.url }
  adding.set(alone, (stream, event) => client.xAdd(stream, '*', { event }))
  closing.push(
    () => client.destroy(),
    () => server.close(),
  )
  if (!redis.isPrivate) return
  const cluster = await startCluster(redis)
  const nodes = createCluster({ rootNodes: [{ url: cluster.url }] })
  await nodes.connect()
  clustered = { client: nodes }
  adding.set(clustered, (stream, event) => nodes.xAdd(stream, '*', { event }))
  closing.push(
    () => nodes.destroy(),
    () => cluster.close(),
  )
})
afterAll(async () => {
  for (const close of closing) await close()
})

const WAYS = [
  ['of a server', () => alone],
  ['of a cluster', () => clustered],
] as const

describe.runIf(redis.found).each(WAYS)(`Redis Streams %s${why}`, (_, options) => {
  brokerConformance({
    test: it,
    declares: { delay: true, keyOrder: false, deadLetters: true, durable: true },
    canPublishRaw: true,
    canReadLetters: true,
    async setup() {
      const open = () => redisStreams({ ...options(), maxPollMs: 200 })
      return {
        broker: open(),
        reopen: async () => open(),
        publishRaw: async (channel, raw) => {
          await adding.get(options())!(eventsKey('lazaret', channel), Buffer.from(raw))
        },
        keptLetters: channel => lettersOf(options(), channel),
      }
    },
  })
})

async function lettersOf(options: RedisStreamsOptions, channel: string): Promise<readonly DeadLetter[]> {
  const store = redisDeadLetters(options)
  try {
    return (await store.list({ channel })).letters
  } finally {
    await store.close()
  }
}
