import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import {
  migratePostgres,
  openPostgres,
  SCHEMA_VERSION,
  schemaVersion,
} from '../../src/adapters/postgres/index.ts'
import { openRedis, redisStreams } from '../../src/adapters/redis/index.ts'
import { createSealing } from '../../src/runtime/sealing/sealing.ts'
import { findPostgres } from '../services/postgres.ts'
import { findRedis } from '../services/redis.ts'
import { TestDatabase } from '../support/postgres.ts'
import { continueWork, handlesWaitingEvents } from './continue.ts'
import { restoreKeys } from './redis-keys.ts'
import { inVersion, KEEP_FOREVER, readStore, SEALING_OF_FIXTURES, writtenVersions } from './stored-format.ts'

const codec = createSealing(SEALING_OF_FIXTURES)
const postgres = await findPostgres()
const postgresServer = postgres.found ? await postgres.start() : undefined
const redis = await findRedis()
afterAll(async () => postgresServer?.close())

const skipped = (found: { readonly found: boolean; readonly why?: string }) =>
  found.found ? '' : ` (skipped: ${found.why})`

async function expected(version: string, name: string): Promise<object> {
  return JSON.parse(await readFile(join(inVersion(version, 'expected'), `${name}.json`), 'utf8'))
}

/** On a connection of its own, because a dump changes the settings of its session. */
async function runSql(url: string, statements: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(statements)
  await client.end()
}

describe.each(writtenVersions())('servers with data of version %s', version => {
  it.runIf(postgres.found)(
    `S1: a Postgres schema is migrated, has everything it had, and works on${skipped(postgres)}`,
    async () => {
      const database = await TestDatabase.empty(postgresServer!)
      await runSql(database.url, await readFile(inVersion(version, 'postgres'), 'utf8'))
      await migratePostgres(database.pool)
      expect(await schemaVersion(database.pool)).toBe(SCHEMA_VERSION)
      const store = openPostgres({ pool: database.pool, codec, ...KEEP_FOREVER })
      expect(await readStore(store)).toMatchObject(await expected(version, 'postgres'))
      await handlesWaitingEvents(store, store.broker)
      await continueWork(store, store.broker)
      await store.close()
      await database.close()
    },
  )

  // Each version gets a server of its own, because its keys have the names that they had.
  it.runIf(redis.found && redis.isPrivate)(
    `E11: a Redis store has everything it had, and works on${skipped(redis)}`,
    async () => {
      if (!redis.found) return
      const server = await redis.start({ appendfsync: 'no' })
      await restoreKeys(server.url, await readFile(inVersion(version, 'redis'), 'utf8'))
      const options = { url: server.url, codec, retentionMs: 'never' } as const
      const store = openRedis({ ...options, ...KEEP_FOREVER })
      expect(await readStore(store)).toMatchObject(await expected(version, 'redis'))
      const broker = redisStreams(options)
      await handlesWaitingEvents(store, broker)
      await continueWork(store, broker)
      await broker.close()
      await store.close()
      await server.close()
    },
  )
})
