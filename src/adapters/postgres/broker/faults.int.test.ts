import { Pool } from 'pg'
import { afterAll, describe, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import { faultTests } from '../../../testing/conformance/broker/faults.ts'
import type { BrokerFault } from '../../../testing/conformance/broker/suite.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { postgresOutbox } from '../index.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const role = uniqueName('service').replaceAll('-', '_')
const sql = (...statements: string[]) => database!.pool.query(statements.join(';')).then(() => {})
const TABLES = 'all tables in schema lazaret'
if (database !== undefined)
  await sql(
    `create role ${role} login password 'service'`,
    `grant all on schema lazaret to ${role}`,
    `grant all on ${TABLES} to ${role}`,
    `grant all on all sequences in schema lazaret to ${role}`,
  )
const url = new URL(database?.url ?? 'postgres://localhost')
url.username = role
url.password = 'service'
const pool = new Pool({ connectionString: url.href, max: 10 })
pool.on('error', () => {})
pool.on('connect', client => client.on('error', () => {}))
afterAll(async () => {
  await pool.end()
  if (database !== undefined) await sql(`drop owned by ${role}`, `drop role ${role}`)
  await database?.close()
  await server?.close()
})

const FAULTS: readonly BrokerFault[] = [
  {
    name: 'every connection is killed',
    inject: () => sql(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`),
    recovery: 'automatic',
  },
  {
    name: 'the privileges on its tables are revoked',
    inject: () => sql(`revoke all on ${TABLES} from ${role}`),
    undo: () => sql(`grant all on ${TABLES} to ${role}`),
    recovery: 'after-undo',
    reports: 'deliveries',
  },
  {
    name: 'the table is truncated',
    inject: () => sql('truncate lazaret.outbox cascade'),
    recovery: 'automatic',
    losesEvents: true,
  },
]

describe.runIf(found.found)(`the outbox in fault${found.found ? '' : ` (skipped: ${found.why})`}`, () => {
  faultTests({
    test: Object.assign((name: string, run: () => Promise<void>) => it(name, run, 60_000), { skip: it.skip }),
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    faults: FAULTS,
    setup: async () => ({ broker: postgresOutbox({ pool }), timeoutMs: 30_000 }),
  })
})
