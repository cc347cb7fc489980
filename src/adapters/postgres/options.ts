import { type EventLimitsOptions, resolveEventLimits } from '../../core/event/limits.ts'
import { hiddenText } from '../../core/options/addresses.ts'
import { OptionsError } from '../../core/options/faults.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import {
  custom,
  derived,
  flag,
  having,
  integer,
  listener,
  milliseconds,
  oneOf,
  optional,
  text,
  withDefault,
} from '../../core/options/rules.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../../ports/clock.ts'
import { type Codec, codecRule } from '../../ports/codec.ts'
import { type Tracing, tracingRule } from '../../ports/tracing.ts'
import type { PgPool } from './connection/client.ts'

const DAY_MS = 86_400_000
/** The default of the option `leaseMs`. */
export const DEFAULT_LEASE_MS = 30_000
/** The default of the option `maxPollMs`. */
export const DEFAULT_MAX_POLL_MS = 1_000
/** The default of the option `ledgerRetentionMs`. */
export const DEFAULT_LEDGER_RETENTION_MS = 7 * DAY_MS

/** Options of the parts of a store in Postgres, such as `postgresOutbox()`. */
export interface PostgresOptions extends ClockAndRandomOptions {
  /** A pool of node-postgres, or one with the same methods. It is the caller's, and stays open. */
  readonly pool: PgPool
  /** Names broker and dead letters in origins and errors ['postgres']. */
  readonly name?: string | undefined
  /** How letters and events are written at rest [JSON]. */
  readonly codec?: Codec | undefined
  /** The largest event that is accepted [the limits of every event]. */
  readonly limits?: EventLimitsOptions | undefined
  /** A delivery comes again this long after its process died, or up to a third longer, if another consumer runs [30 s]. */
  readonly leaseMs?: number | undefined
  /** The longest pause between two polls, which it reaches while nothing happens [1 s]. */
  readonly maxPollMs?: number | undefined
  /** Whether enqueueing and sending commands use NOTIFY. Without it other processes find events and commands by polling [true]. */
  readonly notify?: boolean | undefined
  /** Whether to LISTEN, on the connection that consumers and listeners of commands keep. PgBouncer in transaction mode does not support it [true]. */
  readonly listen?: boolean | undefined
  /** What happens to a row whose handler is done; `partition` moves it to a table with a partition for each day ['keep']. */
  readonly delivered?: 'keep' | 'delete' | 'partition' | undefined
  /** Consumers remove rows that are older than this, a few at a time: delivered ones, and dead ones whose letters are deleted [never]. */
  readonly deliveredRetentionMs?: number | undefined
  /** Rows of a higher generation are left to consumers that have it [0]. */
  readonly generation?: number | undefined
  /** The most letters it keeps; one more is refused. With a limit, every new letter counts them [no limit but the disk]. */
  readonly maxLetters?: number | undefined
  /** How long the ledger remembers that an event was handled [7 days]. */
  readonly ledgerRetentionMs?: number | undefined
  /** Adds the current trace to events that are enqueued or published, such as `otelTracing()` of `lazaret/otel` [none]. */
  readonly tracing?: Tracing | undefined
  /**
   * Called with errors that no caller waits for: of claims, renewals and cleaning up. Lazaret retries all of them. Also called when
   * a replay was handled and this process cannot read its letter, which is resolved then [none].
   */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** Options of `openPostgres()`. Of `url` and `pool` give one. */
export interface OpenPostgresOptions extends Omit<PostgresOptions, 'pool'> {
  /**
   * The server and the database, such as `postgres://user:password@localhost:5432/shop` [none: `pool` is used]. The
   * store makes a pool of 10 connections with the package `pg`, and closes it with itself.
   */
  readonly url?: string | undefined
  /** A pool of node-postgres, or one with the same methods [none: `url` is used]. It is the caller's, and stays open. */
  readonly pool?: PgPool | undefined
}

const rules = {
  pool: having<PgPool>(
    'give a pool with query() and connect(), such as new Pool() of pg',
    'query',
    'connect',
  ),
  name: withDefault(text(), 'postgres'),
  ...clockAndRandomRules,
  codec: codecRule,
  limits: derived(custom(isLimits, 'give limits such as { maxPayloadBytes }'), resolveEventLimits),
  leaseMs: withDefault(milliseconds({ min: 30 }), DEFAULT_LEASE_MS),
  maxPollMs: withDefault(milliseconds({ min: 1 }), DEFAULT_MAX_POLL_MS),
  notify: withDefault(flag(), true),
  listen: withDefault(flag(), true),
  delivered: withDefault(oneOf('keep', 'delete', 'partition'), 'keep'),
  deliveredRetentionMs: optional(milliseconds({ min: 1 })),
  generation: withDefault(integer({ min: 0 }), 0),
  maxLetters: withDefault(integer({ min: 1 }), Number.MAX_SAFE_INTEGER),
  ledgerRetentionMs: withDefault(milliseconds({ min: 1 }), DEFAULT_LEDGER_RETENTION_MS),
  tracing: tracingRule,
  onError: withDefault(listener<(error: unknown) => void>(), () => {}),
}

export type PostgresSettings = Resolved<typeof rules>

export function resolvePostgres(subject: string, options: PostgresOptions): PostgresSettings {
  return resolveOptions(subject, rules, options)
}

/** The rule for the address of a database. It may contain a password, so a fault does not show it. */
const urlRule = hiddenText(isPostgresUrl, "give a URL such as 'postgres://user:password@localhost:5432/shop'")

/** The options of `openPostgres` with exactly one of `url` and `pool`. */
type DatabaseOptions = Omit<PostgresOptions, 'pool'> &
  ({ readonly url: string; readonly pool?: undefined } | { readonly url?: undefined; readonly pool: PgPool })

export function requireDatabase(subject: string, options: OpenPostgresOptions): DatabaseOptions {
  const { url, pool } = options ?? {}
  if ((url === undefined) === (pool === undefined)) {
    const received = url === undefined ? 'neither url nor pool' : 'url and pool'
    const remedy = 'give exactly one: url for a pool that the store makes and closes, pool for your own'
    throw new OptionsError(subject, [{ path: `${subject}.url`, received, remedy }])
  }
  if (url !== undefined) resolveOptions(subject, { url: urlRule }, { url })
  return options as DatabaseOptions
}

function isPostgresUrl(value: string): boolean {
  return /^postgres(?:ql)?:\/\/\S*$/.test(value) && URL.canParse(value)
}

function isLimits(value: unknown): value is EventLimitsOptions | undefined {
  return value === undefined || (typeof value === 'object' && value !== null)
}
