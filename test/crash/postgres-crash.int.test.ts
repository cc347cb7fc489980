import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { postgresOutbox } from '../../src/adapters/postgres/index.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { findPostgres } from '../services/postgres.ts'
import { make } from '../support/outbox-world.ts'
import { TestDatabase } from '../support/postgres.ts'
import { killAfter, start } from './child.ts'

const SCRIPT = fileURLToPath(new URL('postgres-consumer.ts', import.meta.url))
const EVENTS = 300
const KEYS = 10
const ROUNDS = 4

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
afterAll(async () => {
  await database?.close()
  await server?.close()
})

describe.runIf(found.found)(
  `consumers of the outbox that are killed${found.found ? '' : ` (skipped: ${found.why})`}`,
  () => {
    it('E21: every event is delivered, has its effect once, and keys are in order', async () => {
      const { pool, url } = database!
      await pool.query('create table effects (seq bigserial, key text, event uuid)')
      const outbox = postgresOutbox({ pool })
      // The handler is known before there are events, as it is in a service that has run before.
      const options = { channel: 'orders', handler: 'bill', prefetch: 1, ordering: 'by-key' } as const
      await (await outbox.subscribe(options, () => {})).close()
      const events = Array.from({ length: EVENTS }, (_, index) =>
        make.event({ channel: 'orders', key: `key-${index % KEYS}` }),
      )
      await outbox.publish(events)
      await outbox.close()
      const random = seededRandom(5)
      for (let round = 0; round < ROUNDS; round++)
        await Promise.all([1, 2].map(() => killAfter(start(SCRIPT, url), 5 + Math.floor(random() * 25))))
      const last = start(SCRIPT, url)
      const left = `select count(*)::int as count from lazaret.outbox where status <> 'delivered'`
      try {
        await new TestTiming({}).eventually(
          async () => (await database!.rows<{ count: number }>(left))[0]!.count === 0,
          'all are delivered',
        )
      } finally {
        last.kill('SIGKILL')
      }
      const effects = await database!.rows<{ key: string; event: string }>(
        'select key, event from effects order by seq',
      )
      expect(effects).toHaveLength(EVENTS)
      for (const [key, ofKey] of Map.groupBy(events, event => event.key))
        expect(effects.filter(effect => effect.key === key).map(({ event }) => event)).toEqual(
          ofKey.map(({ id }) => id),
        )
    })
  },
)
