import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findRedis, type RedisService } from '../../../test/services/redis.ts'
import { startCluster } from '../../../test/support/redis-cluster.ts'
import { deadLetterStoreConformance } from '../../testing/conformance/dead-letters.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { ledgerConformance } from '../../testing/conformance/ledger.ts'
import { storeConformance } from '../../testing/conformance/store.ts'
import { openRedis, type RedisOptions, redisDeadLetters, redisLedger } from './index.ts'

const redis = await findRedis()
const why = redis.found ? '' : ` (skipped: ${redis.why})`
const closing: (() => unknown)[] = []
let server: RedisService
let given: RedisOptions
let clustered: RedisOptions

beforeAll(async () => {
  if (!redis.found) return
  server = await redis.start()
  const client = createClient({ url: server.url, RESP: 3 })
  await client.connect()
  given = { client }
  closing.push(() => client.destroy())
  if (!redis.isPrivate) return
  const cluster = await startCluster(redis)
  const nodes = createCluster({ rootNodes: [{ url: cluster.url }] })
  await nodes.connect()
  clustered = { client: nodes }
  closing.push(
    () => nodes.destroy(),
    () => cluster.close(),
  )
})
afterAll(async () => {
  for (const close of closing) await close()
  await server?.close()
})

const WAYS = [
  ['by its URL', () => ({ url: server.url })],
  ['by a client with RESP3', () => given],
  ['by the client of a cluster', () => clustered],
] as const

const isCluster = (way: string) => way.includes('cluster')

describe.runIf(redis.found).each(WAYS)(`Redis %s${why}`, (way, options) => {
  const test = redis.found && !redis.isPrivate && isCluster(way) ? it.skip : it
  const tests = Object.assign((name: string, run: () => Promise<void>) => test(name, run), { skip: it.skip })

  deadLetterStoreConformance({
    test: tests,
    declares: { durable: true, bounded: true, codec: true },
    async setup({ capacity, codec }) {
      const prefix = uniqueName('letters')
      const open = () => redisDeadLetters({ ...options(), prefix, codec, maxLetters: capacity })
      return { store: open(), reopen: async () => open() }
    },
  })

  storeConformance({
    test: tests,
    declares: { durable: true, fleet: true },
    async setup({ retention }) {
      const prefix = uniqueName('store')
      const open = () => openRedis({ ...options(), prefix, ...retention?.real })
      return { store: open(), reopen: async () => open(), openSecond: async () => open() }
    },
  })

  ledgerConformance({
    test: tests,
    declares: { durable: true },
    async setup() {
      const open = () => redisLedger({ ...options(), prefix: 'ledger' })
      return { ledger: open(), reopen: async () => open() }
    },
  })
})
