import { afterAll, describe, it } from 'vitest'
import { findPostgres } from '../../../test/services/postgres.ts'
import { TestDatabase } from '../../../test/support/postgres.ts'
import { decodeLetter } from '../../core/dead-letter/json.ts'
import { brokerConformance } from '../../testing/conformance/broker.ts'
import { postgresOutbox } from './index.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
afterAll(async () => {
  await database?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`

describe.runIf(found.found).each(['keep', 'delete'] as const)(
  `Postgres outbox, delivered rows: %s${why}`,
  delivered => {
    brokerConformance({
      test: it,
      declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
      canPublishRaw: true,
      canReadLetters: true,
      async setup() {
        const open = () => postgresOutbox({ pool: database!.pool, delivered })
        return {
          broker: open(),
          reopen: async () => open(),
          publishRaw: (channel, raw) => publishRaw(channel, raw),
          keptLetters: async channel => {
            const rows = await database!.rows<{ body: string }>(
              'select body from lazaret.dead_letters where channel = $1',
              [channel],
            )
            return rows.map(({ body }) => decodeLetter(body))
          },
        }
      },
    })
  },
)

/** As another program would. */
async function publishRaw(channel: string, raw: Uint8Array): Promise<void> {
  await database!.pool.query(
    `insert into lazaret.outbox (channel, target, type, sealed) values ($1, 'bill', 'unknown', $2)`,
    [channel, new TextDecoder().decode(raw)],
  )
}
