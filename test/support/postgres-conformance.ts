import { afterAll, describe, it } from 'vitest'
import {
  openPostgres,
  postgresDeadLetters,
  postgresLedger,
  postgresOutbox,
} from '../../src/adapters/postgres/index.ts'
import { brokerConformance } from '../../src/testing/conformance/broker.ts'
import { deadLetterStoreConformance } from '../../src/testing/conformance/dead-letters.ts'
import { ledgerConformance } from '../../src/testing/conformance/ledger.ts'
import { storeConformance } from '../../src/testing/conformance/store.ts'
import type { Postgres } from '../services/postgres.ts'
import { TestDatabase } from './postgres.ts'

/** What the outbox does with delivered rows. */
const DELIVERED = ['keep', 'delete', 'partition'] as const

/** All suites on one server; each version has a test file of its own. */
export async function postgresConforms(
  found: Postgres,
  outboxes: readonly (typeof DELIVERED)[number][] = DELIVERED,
): Promise<void> {
  const server = found.found ? await found.start() : undefined
  const database = server && (await TestDatabase.migrated(server))
  afterAll(async () => {
    await database?.close()
    await server?.close()
  })
  const version = database && (await database.rows<{ server_version: string }>('show server_version'))[0]!
  const on = found.found ? `Postgres ${version!.server_version}` : `Postgres (skipped: ${found.why})`

  describe.runIf(found.found).each(outboxes)(`the outbox on ${on}, delivered rows: %s`, delivered => {
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
          publishRaw: (channel, raw) => publishRaw(database!, channel, raw),
          keptLetters: async channel => {
            const letters = postgresDeadLetters({ pool: database!.pool })
            return (await letters.list({ channel })).letters
          },
        }
      },
    })
  })

  describe.runIf(found.found)(`dead letters on ${on}`, () => {
    deadLetterStoreConformance({
      test: it,
      declares: { durable: true, bounded: true, codec: true },
      async setup({ capacity, codec }) {
        await database!.clear()
        const open = () => postgresDeadLetters({ pool: database!.pool, codec, maxLetters: capacity })
        return { store: open(), reopen: async () => open() }
      },
    })
  })

  describe.runIf(found.found)(`the ledger on ${on}`, () => {
    ledgerConformance({
      test: it,
      declares: { durable: true },
      async setup() {
        const open = () => postgresLedger({ pool: database!.pool })
        return { ledger: open(), reopen: async () => open() }
      },
    })
  })

  describe.runIf(found.found)(`the store on ${on}`, () => {
    storeConformance({
      test: it,
      declares: { durable: true, fleet: true },
      async setup() {
        await database!.clear()
        const open = () => openPostgres({ pool: database!.pool })
        return { store: open(), reopen: async () => open(), openSecond: async () => open() }
      },
    })
  })
}

/** As another program would. */
async function publishRaw({ pool }: TestDatabase, channel: string, raw: Uint8Array): Promise<void> {
  await pool.query(
    `insert into lazaret.outbox (channel, target, type, sealed) values ($1, 'bill', 'unknown', $2)`,
    [channel, new TextDecoder().decode(raw)],
  )
}
