import { execFileSync } from 'node:child_process'
import { afterAll, describe, expect, it } from 'vitest'
import { openPostgres } from '../src/adapters/postgres/index.ts'
import { openRedis, redisStreams } from '../src/adapters/redis/index.ts'
import { uniqueName } from '../src/testing/conformance/harness.ts'
import { commandTests } from '../src/testing/conformance/store/commands.ts'
import { findPostgres } from './services/postgres.ts'
import { findRedis } from './services/redis.ts'
import { TestDatabase } from './support/postgres.ts'
import {
  auditSecrets,
  commandWithSecrets,
  fillWithSecrets,
  reportWithSecrets,
  retryWithSecrets,
  SEALING,
  SECRETS,
} from './support/sealed-at-rest.ts'

const postgres = await findPostgres()
const postgresServer = postgres.found ? await postgres.start() : undefined
const database = postgresServer && (await TestDatabase.migrated(postgresServer))
const redis = await findRedis()
const redisServer = redis.found ? await redis.start({ appendfsync: 'no' }) : undefined
afterAll(async () => {
  await database?.close()
  await postgresServer?.close()
  await redisServer?.close()
})

describe.runIf(postgres.found)('a sealed Postgres store', () => {
  it('B13: has no text of a payload, key, error, patch or search in any table', async () => {
    const store = openPostgres({ pool: database!.pool, codec: SEALING })
    await fillWithSecrets(store)
    await auditSecrets(store)
    await commandWithSecrets(store)
    await reportWithSecrets(store)
    await retryWithSecrets(store.broker)
    const tables = [
      'outbox',
      'dead_letters',
      'groups',
      'replays',
      'replay_items',
      'audit',
      'commands',
      'instances',
    ]
    for (const table of tables) {
      const { rows } = await database!.pool.query(`select t::text as row from lazaret.${table} t`)
      expect(rows.length, table).toBeGreaterThan(0)
      expect(JSON.stringify(rows), table).not.toMatch(SECRETS)
    }
    await store.close()
  })

  commandTests({
    test: it,
    declares: { durable: true, fleet: true },
    async setup() {
      await database!.clear()
      const open = () => openPostgres({ pool: database!.pool, codec: SEALING })
      return { store: open(), reopen: async () => open(), openSecond: async () => open() }
    },
  })
})

describe.runIf(redis.found)('a sealed Redis store', () => {
  it('B13: has no text of a payload, key, error, patch or search in any key', async () => {
    const store = openRedis({ url: redisServer!.url, codec: SEALING, prefix: 'sealed' })
    await fillWithSecrets(store)
    await auditSecrets(store)
    await commandWithSecrets(store)
    await reportWithSecrets(store)
    const broker = redisStreams({ url: redisServer!.url, codec: SEALING, prefix: 'sealed' })
    await retryWithSecrets(broker)
    const port = new URL(redisServer!.url).port
    const cli = (...words: string[]) =>
      execFileSync('redis-cli', ['-p', port, ...words], { encoding: 'latin1' })
    cli('config', 'set', 'rdbcompression', 'no')
    const keys = cli('keys', '*').trim().split('\n')
    expect(keys.length).toBeGreaterThan(5)
    for (const key of keys) expect(cli('dump', key) + key, key).not.toMatch(SECRETS)
    await broker.close()
    await store.close()
  })

  commandTests({
    test: it,
    declares: { durable: true, fleet: true },
    async setup() {
      const prefix = uniqueName('store')
      const open = () => openRedis({ url: redisServer!.url, codec: SEALING, prefix })
      return { store: open(), reopen: async () => open(), openSecond: async () => open() }
    },
  })
})
