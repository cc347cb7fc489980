import { createClient } from 'redis'
import { afterAll, describe, it } from 'vitest'
import { findRedis } from '../../../../test/services/redis.ts'
import { brokerConformance } from '../../../testing/conformance/broker.ts'
import { channelPlaces } from './places.ts'
import { redisStreams } from './streams.ts'

const found = await findRedis()
const server = found.found ? await found.start() : undefined
const outside = server && createClient({ url: server.url })
await outside?.connect()
afterAll(async () => {
  outside?.destroy()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`

describe.runIf(found.found)(`Redis Streams broker${why}`, () => {
  brokerConformance({
    test: it,
    declares: { delay: true, keyOrder: false, deadLetters: false, durable: true },
    canPublishRaw: true,
    async setup() {
      const open = () => redisStreams({ url: server!.url, leaseMs: 3_000 })
      return {
        broker: open(),
        reopen: async () => open(),
        publishRaw: async (channel, raw) => {
          await outside!.xAdd(channelPlaces('lazaret', channel).events, '*', { event: Buffer.from(raw) })
        },
      }
    },
  })
})
