import { afterAll, describe, it } from 'vitest'
import { findPostgres } from '../../../test/services/postgres.ts'
import { TestDatabase } from '../../../test/support/postgres.ts'
import { brokerConformance } from '../../testing/conformance/broker.ts'
import { deadLetterStoreConformance } from '../../testing/conformance/dead-letters.ts'
import { ledgerConformance } from '../../testing/conformance/ledger.ts'
import { postgresDeadLetters, postgresLedger, postgresOutbox } from './index.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
afterAll(async () => {
  await database?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`

describe.runIf(found.found).each(['keep', 'delete', 'partition'] as const)(
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
            const letters = postgresDeadLetters({ pool: database!.pool })
            return (await letters.list({ channel })).letters
          },
        }
      },
    })
  },
)

describe.runIf(found.found)(`Postgres dead letters${why}`, () => {
  deadLetterStoreConformance({
    test: it,
    declares: { durable: true, bounded: true },
    async setup({ capacity }) {
      await database!.clear()
      const open = () => postgresDeadLetters({ pool: database!.pool, maxLetters: capacity })
      return { store: open(), reopen: async () => open() }
    },
  })
})

describe.runIf(found.found)(`Postgres ledger${why}`, () => {
  ledgerConformance({
    test: it,
    declares: { durable: true },
    async setup() {
      const open = () => postgresLedger({ pool: database!.pool })
      return { ledger: open(), reopen: async () => open() }
    },
  })
})

/** As another program would. */
async function publishRaw(channel: string, raw: Uint8Array): Promise<void> {
  await database!.pool.query(
    `insert into lazaret.outbox (channel, target, type, sealed) values ($1, 'bill', 'unknown', $2)`,
    [channel, new TextDecoder().decode(raw)],
  )
}
