import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { custom, integer, milliseconds, text, withDefault } from '../../core/options/rules.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../../ports/clock.ts'
import { type Codec, codecRule } from '../../ports/codec.ts'

const DAY_MS = 86_400_000
/** The default of the option `leaseMs`. */
export const DEFAULT_LEASE_MS = 30_000
/** The default of the option `maxPollMs`. */
export const DEFAULT_MAX_POLL_MS = 250
/** The default of the option `maxPerChannel`. */
export const DEFAULT_MAX_PER_CHANNEL = 10_000_000
/** The default of the option `ledgerRetentionMs`. */
export const DEFAULT_LEDGER_RETENTION_MS = 7 * DAY_MS
/** The default of the option `busyTimeoutMs`. */
export const DEFAULT_BUSY_TIMEOUT_MS = 5_000

/** The default of the option `maxJournalEvents`. */
export const DEFAULT_MAX_JOURNAL_EVENTS = 1_000_000
/**
 * Shorter than the 5 s of a journal, so that tracking a critical event fails with the lock error and not with a
 * timeout.
 */
export const DEFAULT_JOURNAL_BUSY_TIMEOUT_MS = 4_000

/** Options of `openSqlite()` and of the parts of its store. */
export interface SqliteOptions extends ClockAndRandomOptions {
  /** The database file. It is made if it is not there; its folder is not. */
  readonly path: string
  /** Names broker and dead letters in origins and errors ['sqlite']. */
  readonly name?: string | undefined
  /** How letters and events are written at rest [JSON]. */
  readonly codec?: Codec | undefined
  /** Letters it takes; one more is refused [no limit but the disk]. */
  readonly maxLetters?: number | undefined
  /** The most events that a channel may hold for its slowest handler [10 000 000]. */
  readonly maxPerChannel?: number | undefined
  /** The most events that the journal accepts [1 000 000]. It refuses more. */
  readonly maxJournalEvents?: number | undefined
  /**
   * The time after the death of a process, in ms, when its deliveries are delivered again; at most half as long again [30
   * s].
   */
  readonly leaseMs?: number | undefined
  /** The longest time to notice events of other processes while nothing happens, in ms [250 ms]. */
  readonly maxPollMs?: number | undefined
  /** How long a done pair of the ledger stays done, in ms [7 days]. */
  readonly ledgerRetentionMs?: number | undefined
  /** How long to wait for another process that holds the file, in ms [5 s; a journal that is opened alone 4 s]. */
  readonly busyTimeoutMs?: number | undefined
}

const rules = {
  path: custom(isFilePath, "give the path of a file, such as './lazaret.db'"),
  name: withDefault(text(), 'sqlite'),
  ...clockAndRandomRules,
  codec: codecRule,
  maxLetters: withDefault(integer({ min: 1 }), Number.MAX_SAFE_INTEGER),
  maxPerChannel: withDefault(integer({ min: 1 }), DEFAULT_MAX_PER_CHANNEL),
  maxJournalEvents: withDefault(integer({ min: 1 }), DEFAULT_MAX_JOURNAL_EVENTS),
  leaseMs: withDefault(milliseconds({ min: 30 }), DEFAULT_LEASE_MS),
  maxPollMs: withDefault(milliseconds({ min: 1 }), DEFAULT_MAX_POLL_MS),
  ledgerRetentionMs: withDefault(milliseconds({ min: 1 }), DEFAULT_LEDGER_RETENTION_MS),
  busyTimeoutMs: withDefault(integer({ min: 0, max: 600_000 }), DEFAULT_BUSY_TIMEOUT_MS),
}

export type SqliteSettings = Resolved<typeof rules>

export function resolveSqlite(subject: string, options: SqliteOptions): SqliteSettings {
  return resolveOptions(subject, rules, options)
}

/** A database in memory would be another one for each thread. */
function isFilePath(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value !== ':memory:' && !value.includes('\0')
}
