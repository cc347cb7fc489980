import fc from 'fast-check'
import { createClient } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import { openPostgres } from '../../src/adapters/postgres/index.ts'
import { openRedis } from '../../src/adapters/redis/index.ts'
import { findPostgres } from '../services/postgres.ts'
import { findRedis } from '../services/redis.ts'
import { TestDatabase } from '../support/postgres.ts'
import { cases, hostileText } from './arbitraries.ts'
import {
  changedLettersHideNobody,
  changedReplaysHideNobody,
  manyChangedLettersHideNobody,
} from './store-rows.ts'

const RUNS = cases(20)
const postgres = await findPostgres()
const postgresServer = postgres.found ? await postgres.start() : undefined
const redis = await findRedis()
const redisServer = redis.found ? await redis.start({ appendfsync: 'no' }) : undefined
afterAll(async () => {
  await postgresServer?.close()
  await redisServer?.close()
})

describe.runIf(postgres.found)('a row of Postgres that SQL changed', () => {
  it('E9: hides no other letter and no other replay, and the letter can be saved again', async () => {
    const database = await TestDatabase.migrated(postgresServer!)
    const { pool } = database
    const store = openPostgres({ pool })
    const changeLetter = async (id: string, text: string) =>
      void (await pool.query('update lazaret.dead_letters set body = $2 where id = $1', [id, text]))
    // The column takes nothing but JSON.
    const changeReplay = async (id: string, text: string) =>
      void (await pool
        .query('update lazaret.replays set body = $2 where id = $1', [id, text])
        .catch(() => {}))
    const changeable = { store, changeLetter, changeReplay }
    await changedLettersHideNobody(changeable, RUNS)
    await changedReplaysHideNobody(changeable, RUNS)
    await manyChangedLettersHideNobody(changeable)
    await store.close()
    await database.close()
  })
})

describe.runIf(redis.found)('a key of Redis that another program changed', () => {
  it('E11: hides no other letter, replay or entry of the audit log, and the letter can be saved again', async () => {
    const client = createClient({ url: redisServer!.url })
    await client.connect()
    const changeable = {
      store: openRedis({ url: redisServer!.url, prefix: 'hostile' }),
      changeLetter: async (id: string, text: string) =>
        void (await client.hSet(`{hostile}:letters:letter:${id}`, 'b', text)),
      changeReplay: async (id: string, text: string) =>
        void (await client.hSet(`{hostile}:replays:replay:${id}`, 'body', text)),
    }
    await changedLettersHideNobody(changeable, RUNS)
    await changedReplaysHideNobody(changeable, RUNS)
    const { audit } = changeable.store
    await audit.append({ at: 1, by: 'ann', action: 'note', target: 'known' })
    await fc.assert(
      fc.asyncProperty(hostileText, async text => {
        await client.xAdd('{hostile}:audit', '*', { entry: text })
        expect((await audit.list({ target: 'known' })).entries).toHaveLength(1)
      }),
      RUNS,
    )
    await manyChangedLettersHideNobody(changeable)
    await changeable.store.close()
    client.destroy()
  })
})
