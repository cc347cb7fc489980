import { Door } from '../../adapter-kit/door.ts'
import { sealedAudit } from '../../adapter-kit/sealed/audit.ts'
import { openGroups } from '../../adapter-kit/sealed/groups.ts'
import { sealedReplays } from '../../adapter-kit/sealed/replays.ts'
import type { Store } from '../../ports/store.ts'
import { SqliteBroker } from './broker/broker.ts'
import { type Connection, connect } from './connection/connection.ts'
import { SqliteJournal } from './journal/journal.ts'
import { SqliteLedger } from './ledger/ledger.ts'
import { SqliteDeadLetters } from './letters/dead-letters.ts'
import { SqliteGroups } from './letters/groups.ts'
import { SqliteAudit } from './operating/audit.ts'
import { SqliteReplays } from './operating/replays.ts'
import { SqliteSnapshots } from './operating/snapshots.ts'
import {
  DEFAULT_JOURNAL_BUSY_TIMEOUT_MS,
  resolveSqlite,
  type SqliteOptions,
  type SqliteSettings,
} from './options.ts'

export interface SqliteStore extends Store {
  readonly deadLetters: SqliteDeadLetters
  readonly broker: SqliteBroker
  readonly ledger: SqliteLedger
  readonly journal: SqliteJournal
  /**
   * Resolves when the file is open and of this version; rejects with what is wrong with it. Nobody has to wait for it:
   * the first use of any part finds out the same.
   */
  ready(): Promise<void>
}

/** Everything in one database file: a broker, dead letters with their groups, a ledger, a journal, replays, the audit log and snapshots. */
export function openSqlite(options: SqliteOptions): SqliteStore {
  const settings = resolveSqlite('openSqlite', options)
  const connection = connect(settings)
  const door = new Door(settings.name)
  const deadLetters = deadLettersOf(connection.use(), settings)
  const broker = brokerOf(connection.use(), settings)
  const ledger = ledgerOf(connection.use(), settings)
  const journal = journalOf(connection.use(), settings)
  let closing: Promise<void> | undefined
  return {
    url: `sqlite:${settings.path}`,
    deadLetters,
    broker,
    ledger,
    journal,
    groups: openGroups(new SqliteGroups(connection, door), settings.codec.letters.texts),
    replays: sealedReplays(new SqliteReplays(connection, door), settings.codec.letters.texts),
    audit: sealedAudit(new SqliteAudit(connection, door), settings.codec.letters.texts),
    snapshots: new SqliteSnapshots(connection, door),
    async ready() {
      await connection.open()
    },
    close() {
      closing ??= (async () => {
        door.close()
        await broker.close()
        await ledger.close()
        await journal.close()
        await deadLetters.close()
        await connection.leave()
      })()
      return closing
    },
  }
}

/** The broker of a database file alone. What is opened on the same file shares its thread. */
export function sqliteBroker(options: SqliteOptions): SqliteBroker {
  const settings = resolveSqlite('sqliteBroker', options)
  return brokerOf(connect(settings), settings)
}

/** The dead letters of a database file alone. */
export function sqliteDeadLetters(options: SqliteOptions): SqliteDeadLetters {
  const settings = resolveSqlite('sqliteDeadLetters', options)
  return deadLettersOf(connect(settings), settings)
}

/** The ledger of a database file alone. */
export function sqliteLedger(options: SqliteOptions): SqliteLedger {
  const settings = resolveSqlite('sqliteLedger', options)
  return ledgerOf(connect(settings), settings)
}

/** The journal of a dispatcher. In a file of its own it waits for nobody else's writes. */
export function sqliteJournal(options: SqliteOptions): SqliteJournal {
  const { busyTimeoutMs = DEFAULT_JOURNAL_BUSY_TIMEOUT_MS } = options
  const settings = resolveSqlite('sqliteJournal', { ...options, busyTimeoutMs })
  return journalOf(connect(settings), settings)
}

function brokerOf(connection: Connection, settings: SqliteSettings): SqliteBroker {
  return new SqliteBroker(connection, settings)
}

function deadLettersOf(
  connection: Connection,
  { name, codec, maxLetters }: SqliteSettings,
): SqliteDeadLetters {
  return new SqliteDeadLetters(connection, { name, codec: codec.letters, capacity: maxLetters })
}

function ledgerOf(connection: Connection, { random, ledgerRetentionMs }: SqliteSettings): SqliteLedger {
  return new SqliteLedger(connection, { random, retentionMs: ledgerRetentionMs })
}

function journalOf(connection: Connection, { codec, maxJournalEvents }: SqliteSettings): SqliteJournal {
  return new SqliteJournal(connection, { codec: codec.events, capacity: maxJournalEvents })
}
