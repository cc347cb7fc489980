import { Door } from '../../adapter-kit/door.ts'
import { sealedAudit } from '../../adapter-kit/sealed/audit.ts'
import { openGroups } from '../../adapter-kit/sealed/groups.ts'
import { sealedReplays } from '../../adapter-kit/sealed/replays.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import type { Store } from '../../ports/store.ts'
import { PostgresOutbox } from './broker/outbox.ts'
import type { PgPool } from './connection/client.ts'
import { ClientMissingError } from './connection/errors.ts'
import { PostgresLedger } from './ledger/ledger.ts'
import { PostgresDeadLetters } from './letters/dead-letters.ts'
import { PostgresGroups } from './letters/groups.ts'
import { LetterTable } from './letters/letter-table.ts'
import { PostgresAudit } from './operating/audit.ts'
import { PostgresReplays } from './operating/replays.ts'
import { PostgresSnapshots } from './operating/snapshots.ts'
import { type PostgresOptions, type PostgresSettings, resolvePostgres } from './options.ts'

/** A person waits for the answer; a server that is not there says nothing at all. */
const CONNECT_TIMEOUT_MS = 5_000

export interface PostgresStore extends Store {
  readonly deadLetters: PostgresDeadLetters
  readonly broker: PostgresOutbox
  readonly ledger: PostgresLedger
  /** Resolves when the schema is there and of this version; rejects with what is wrong with it. */
  ready(): Promise<void>
}

/** Everything in one database: the outbox, dead letters with their groups, a ledger, replays, the audit log and snapshots. */
export function openPostgres(options: PostgresOptions): PostgresStore {
  return storeOf(resolvePostgres('openPostgres', options), 'postgres:', async () => {})
}

/** The same with a pool of its own, for whoever has no more than a URL. */
export async function connectPostgres(
  url: string,
  options: Omit<PostgresOptions, 'pool'> = {},
): Promise<PostgresStore> {
  const pool = await createPool(url)
  try {
    const settings = resolvePostgres('connectPostgres', { ...options, pool })
    return storeOf(settings, withoutCredentials(url), () => pool.end())
  } catch (error) {
    await pool.end()
    throw error
  }
}

/** The outbox of a database alone: a broker whose events can be written in the caller's own transactions. */
export function postgresOutbox(options: PostgresOptions): PostgresOutbox {
  return new PostgresOutbox(resolvePostgres('postgresOutbox', options))
}

/** The dead letters of a database alone. */
export function postgresDeadLetters(options: PostgresOptions): PostgresDeadLetters {
  return deadLettersOf(resolvePostgres('postgresDeadLetters', options))
}

/** The ledger of a database alone. */
export function postgresLedger(options: PostgresOptions): PostgresLedger {
  return new PostgresLedger(resolvePostgres('postgresLedger', options))
}

/** A pool of node-postgres, which is an optional peer. */
export async function createPool(url: string): Promise<PgPool & { end(): Promise<void> }> {
  const { Pool } = await import('pg').catch((error: unknown) => {
    throw new ClientMissingError(error)
  })
  const pool = new Pool({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'lazaret',
  })
  // A connection that breaks while nobody uses it is replaced; whoever uses one is told by what was asked.
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}

function storeOf(settings: PostgresSettings, url: string, leave: () => Promise<void>): PostgresStore {
  const { pool, name, clock } = settings
  const door = new Door(name)
  const deadLetters = deadLettersOf(settings)
  const broker = new PostgresOutbox(settings)
  const ledger = new PostgresLedger(settings)
  let closing: Promise<void> | undefined
  return {
    url,
    deadLetters,
    broker,
    ledger,
    groups: openGroups(new PostgresGroups(pool, clock, door), settings.codec.letters.texts),
    replays: sealedReplays(new PostgresReplays(pool, door), settings.codec.letters.texts),
    audit: sealedAudit(new PostgresAudit(pool, door), settings.codec.letters.texts),
    snapshots: new PostgresSnapshots(pool, door),
    ready: () => broker.ready(),
    close() {
      closing ??= (async () => {
        door.close()
        await broker.close()
        await ledger.close()
        await deadLetters.close()
        await leave()
      })()
      return closing
    },
  }
}

function deadLettersOf({ name, pool, codec, maxLetters }: PostgresSettings): PostgresDeadLetters {
  return new PostgresDeadLetters(name, pool, new LetterTable(name, codec.letters, maxLetters))
}
