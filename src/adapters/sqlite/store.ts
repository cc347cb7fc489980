import { sealedAudit } from '../../adapter-kit/sealed/audit.ts'
import { sealedCommands } from '../../adapter-kit/sealed/commands.ts'
import { openGroups } from '../../adapter-kit/sealed/groups.ts'
import { sealedReplays } from '../../adapter-kit/sealed/replays.ts'
import type { Commands } from '../../ports/commands.ts'
import type { Fleet } from '../../ports/fleet.ts'
import { type Store, StoreClosedError } from '../../ports/store.ts'
import { SqliteBroker } from './broker/broker.ts'
import { connect, Session } from './connection/connection.ts'
import { SqliteJournal } from './journal/journal.ts'
import { SqliteLedger } from './ledger/ledger.ts'
import { SqliteDeadLetters } from './letters/dead-letters.ts'
import { sqliteGroups } from './letters/groups.ts'
import { sqliteAudit } from './operating/audit.ts'
import { sqliteCommands } from './operating/commands.ts'
import { sqliteFleet } from './operating/fleet.ts'
import { sqliteReplays } from './operating/replays.ts'
import { sqliteSnapshots } from './operating/snapshots.ts'
import { DEFAULT_JOURNAL_BUSY_TIMEOUT_MS, resolveSqlite, type SqliteOptions } from './options.ts'

/** The store that `openSqlite()` opens. */
export interface SqliteStore extends Store {
  readonly deadLetters: SqliteDeadLetters
  readonly broker: SqliteBroker
  readonly ledger: SqliteLedger
  readonly journal: SqliteJournal
  readonly fleet: Fleet
  readonly commands: Commands
  /**
   * Resolves when the file is open and has this version; otherwise rejects with the problem. Calling it is optional,
   * because the first use of any part reports the same problem.
   */
  ready(): Promise<void>
}

/**
 * Everything in one database file: a broker, dead letters with their groups, a ledger, a journal, replays, the audit log, snapshots, and
 * the fleet with commands to it.
 */
export function openSqlite(options: SqliteOptions): SqliteStore {
  const settings = resolveSqlite('openSqlite', options)
  const { name, path, clock, codec } = settings
  const connection = connect(settings)
  const session = new Session(connection, () => new StoreClosedError(name))
  const deadLetters = new SqliteDeadLetters(connection, settings)
  const broker = new SqliteBroker(connection, settings)
  const ledger = new SqliteLedger(connection, settings)
  const journal = new SqliteJournal(connection, settings)
  const { texts } = codec.letters
  let closing: Promise<void> | undefined
  return {
    url: `sqlite:${path}`,
    deadLetters,
    broker,
    ledger,
    journal,
    groups: openGroups(sqliteGroups(session, clock), texts),
    replays: sealedReplays(sqliteReplays(session), texts),
    audit: sealedAudit(sqliteAudit(session), texts),
    snapshots: sqliteSnapshots(session),
    fleet: sqliteFleet(session),
    commands: sealedCommands(sqliteCommands(session), texts),
    async ready() {
      await connection.open()
    },
    close() {
      closing ??= (async () => {
        for (const part of [session, broker, ledger, journal, deadLetters]) await part.close()
      })()
      return closing
    },
  }
}

/** Opens the broker of a database file alone. Parts of the same file share one thread. */
export function sqliteBroker(options: SqliteOptions): SqliteBroker {
  const settings = resolveSqlite('sqliteBroker', options)
  return new SqliteBroker(connect(settings), settings)
}

/** The dead letters of a database file alone. */
export function sqliteDeadLetters(options: SqliteOptions): SqliteDeadLetters {
  const settings = resolveSqlite('sqliteDeadLetters', options)
  return new SqliteDeadLetters(connect(settings), settings)
}

/** The ledger of a database file alone. */
export function sqliteLedger(options: SqliteOptions): SqliteLedger {
  const settings = resolveSqlite('sqliteLedger', options)
  return new SqliteLedger(connect(settings), settings)
}

/** Opens the journal of a dispatcher. In its own file it does not wait for other writes. */
export function sqliteJournal(options: SqliteOptions): SqliteJournal {
  const { busyTimeoutMs = DEFAULT_JOURNAL_BUSY_TIMEOUT_MS } = options
  const settings = resolveSqlite('sqliteJournal', { ...options, busyTimeoutMs })
  return new SqliteJournal(connect(settings), settings)
}
