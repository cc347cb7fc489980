import { sealedAudit } from '../../adapter-kit/sealed/audit.ts'
import { sealedCommands } from '../../adapter-kit/sealed/commands.ts'
import { openGroups } from '../../adapter-kit/sealed/groups.ts'
import { sealedReplays } from '../../adapter-kit/sealed/replays.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import type { Commands } from '../../ports/commands.ts'
import type { Fleet } from '../../ports/fleet.ts'
import { type Store, StoreClosedError } from '../../ports/store.ts'
import { PostgresOutbox } from './broker/outbox.ts'
import { ListenConnection } from './connection/listen-connection.ts'
import { LazyPool } from './connection/pool.ts'
import { PostgresLedger } from './ledger/ledger.ts'
import { PostgresDeadLetters } from './letters/dead-letters.ts'
import { postgresGroups } from './letters/groups.ts'
import { postgresAudit } from './operating/audit.ts'
import { postgresCommands } from './operating/commands.ts'
import { postgresFleet } from './operating/fleet.ts'
import { postgresReplays } from './operating/replays.ts'
import { postgresSnapshots } from './operating/snapshots.ts'
import {
  type OpenPostgresOptions,
  type PostgresOptions,
  type PostgresSettings,
  requireDatabase,
  resolvePostgres,
} from './options.ts'
import { hasSearchIndex } from './schema/letter-search.ts'

/** The store that `openPostgres()` opens. */
export interface PostgresStore extends Store {
  readonly deadLetters: PostgresDeadLetters
  readonly broker: PostgresOutbox
  readonly ledger: PostgresLedger
  readonly fleet: Fleet
  readonly commands: Commands & Required<Pick<Commands, 'onCommand'>>
  /** Resolves when the schema exists and has this version; otherwise rejects with the problem. */
  ready(): Promise<void>
  /** Whether a text search uses an index. Without one it reads letters, which takes long if there are many. */
  hasSearchIndex(): Promise<boolean>
}

/**
 * Everything in one database: the outbox, dead letters with their groups, a ledger, replays, the audit log, snapshots, and the
 * fleet with commands to it.
 */
export function openPostgres(options: OpenPostgresOptions): PostgresStore {
  const { url, pool, ...rest } = requireDatabase('openPostgres', options)
  if (url !== undefined) return storeWithOwnPool('openPostgres', url, new LazyPool(url), rest)
  return storeOf(resolvePostgres('openPostgres', { ...rest, pool }), 'postgres:', async () => {})
}

/** The same as `openPostgres({ url })`. It resolves when the package `pg` is loaded, and rejects when it is missing. */
export async function connectPostgres(
  url: string,
  options: Omit<PostgresOptions, 'pool'> = {},
): Promise<PostgresStore> {
  requireDatabase('connectPostgres', { url })
  const pool = new LazyPool(url)
  const store = storeWithOwnPool('connectPostgres', url, pool, options)
  await pool.load()
  return store
}

function storeWithOwnPool(
  subject: string,
  url: string,
  pool: LazyPool,
  options: Omit<PostgresOptions, 'pool'>,
): PostgresStore {
  const settings = resolvePostgres(subject, { ...options, pool })
  return storeOf(settings, withoutCredentials(url), () => pool.end())
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
  const connection = new ListenConnection(settings)
  const broker = new PostgresOutbox(settings, connection)
  const ledger = new PostgresLedger(settings)
  let closing: Promise<void> | undefined
  const pool = () => {
    if (closing !== undefined) throw new StoreClosedError(name)
    return settings.pool
  }
  const commands = postgresCommands(pool, settings, connection)
  const close = async () => {
    await commands.close()
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
    groups: openGroups(postgresGroups(pool, clock), texts),
    replays: sealedReplays(postgresReplays(pool), texts),
    audit: sealedAudit(postgresAudit(pool), texts),
    snapshots: postgresSnapshots(pool),
    fleet: postgresFleet(pool),
    commands: sealedCommands(commands, texts),
    ready: () => broker.ready(),
    hasSearchIndex: async () => hasSearchIndex(pool()),
    close() {
      closing ??= close()
      return closing
    },
  }
}
