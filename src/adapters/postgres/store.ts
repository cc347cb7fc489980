import { sealedAudit } from '../../adapter-kit/sealed/audit.ts'
import { openGroups } from '../../adapter-kit/sealed/groups.ts'
import { sealedReplays } from '../../adapter-kit/sealed/replays.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import { type Store, StoreClosedError } from '../../ports/store.ts'
import { PostgresOutbox } from './broker/outbox.ts'
import { createPool } from './connection/pool.ts'
import { PostgresLedger } from './ledger/ledger.ts'
import { PostgresDeadLetters } from './letters/dead-letters.ts'
import { PostgresGroups } from './letters/groups.ts'
import { PostgresAudit } from './operating/audit.ts'
import { PostgresReplays } from './operating/replays.ts'
import { PostgresSnapshots } from './operating/snapshots.ts'
import { type PostgresOptions, type PostgresSettings, resolvePostgres } from './options.ts'

/** The store that `openPostgres()` opens. */
export interface PostgresStore extends Store {
  readonly deadLetters: PostgresDeadLetters
  readonly broker: PostgresOutbox
  readonly ledger: PostgresLedger
  /** Resolves when the schema exists and has this version; otherwise rejects with the problem. */
  ready(): Promise<void>
}

/** Everything in one database: the outbox, dead letters with their groups, a ledger, replays, the audit log and snapshots. */
export function openPostgres(options: PostgresOptions): PostgresStore {
  return storeOf(resolvePostgres('openPostgres', options), 'postgres:', async () => {})
}

/** Opens the store with its own pool, for callers that only have a URL. */
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
  return new PostgresDeadLetters(resolvePostgres('postgresDeadLetters', options))
}

/** The ledger of a database alone. */
export function postgresLedger(options: PostgresOptions): PostgresLedger {
  return new PostgresLedger(resolvePostgres('postgresLedger', options))
}

function storeOf(settings: PostgresSettings, url: string, endPool: () => Promise<void>): PostgresStore {
  const { name, clock, codec } = settings
  const { texts } = codec.letters
  const deadLetters = new PostgresDeadLetters(settings)
  const broker = new PostgresOutbox(settings)
  const ledger = new PostgresLedger(settings)
  let closing: Promise<void> | undefined
  const pool = () => {
    if (closing !== undefined) throw new StoreClosedError(name)
    return settings.pool
  }
  const close = async () => {
    await broker.close()
    await ledger.close()
    await deadLetters.close()
    await endPool()
  }
  return {
    url,
    deadLetters,
    broker,
    ledger,
    groups: openGroups(new PostgresGroups(pool, clock), texts),
    replays: sealedReplays(new PostgresReplays(pool), texts),
    audit: sealedAudit(new PostgresAudit(pool), texts),
    snapshots: new PostgresSnapshots(pool),
    ready: () => broker.ready(),
    close() {
      closing ??= close()
      return closing
    },
  }
}
