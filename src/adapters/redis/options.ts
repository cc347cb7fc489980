import { DEFAULT_RETENTION_MS, retentionRule } from '../../core/dead-letter/retention.ts'
import { OptionsError } from '../../core/options/faults.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import {
  custom,
  having,
  integer,
  listener,
  milliseconds,
  optional,
  text,
  withDefault,
} from '../../core/options/rules.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../../ports/clock.ts'
import { type Codec, codecRule } from '../../ports/codec.ts'
import type { AnyRedisClient } from './connection/client.ts'
import { DEFAULT_PREFIX } from './keys.ts'

const DAY_MS = 86_400_000

export { DEFAULT_RETENTION_MS }
/** The default of the option `ledgerRetentionMs`. */
export const DEFAULT_LEDGER_RETENTION_MS = 7 * DAY_MS
/** The default of the option `timeoutMs`. */
export const DEFAULT_TIMEOUT_MS = 5_000
/** The default of the option `reconnectBaseMs`. */
export const DEFAULT_RECONNECT_BASE_MS = 50
/** The default of the option `reconnectMaxMs`. */
export const DEFAULT_RECONNECT_MAX_MS = 5_000
/** The default of the option `leaseMs`. */
export const DEFAULT_LEASE_MS = 30_000
/** The default of the option `maxPollMs`. */
export const DEFAULT_MAX_POLL_MS = 1_000

/** How to reach a server. Give one of `url` and `client`. */
export interface RedisConnectionOptions extends ClockAndRandomOptions {
  /**
   * `redis://user:password@host:6379/0`, or `rediss://` with TLS [none: `client` is used]. `?prefix=shop` sets the
   * prefix too. Lazaret opens the connection and reopens it when it is lost.
   */
  readonly url?: string | undefined
  /**
   * A connected client of node-redis, or one with the same methods [none: `url` is used]. The caller owns it and
   * closes it.
   */
  readonly client?: AnyRedisClient | undefined
  /** What all keys begin with; in a cluster, what decides their slot ['lazaret']. */
  readonly prefix?: string | undefined
  /** Names it in origins and errors ['redis']. */
  readonly name?: string | undefined
  /**
   * The time that a call has, in ms [5 000; `redisLimit`: 1 000]. A call ends at most a quarter later, whatever the
   * server does.
   */
  readonly timeoutMs?: number | undefined
  /**
   * The longest wait before the first attempt to reconnect, in ms [50]. The wait doubles with every failed attempt.
   */
  readonly reconnectBaseMs?: number | undefined
  /**
   * The longest wait before any attempt to reconnect, in ms [5 000; `redisLimit`: 500]. At least half of a wait
   * passes; the rest is random.
   */
  readonly reconnectMaxMs?: number | undefined
  /** Called with errors that no caller waits for: lost connections, failed sweeps. Lazaret retries all of them [none]. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The rules of every part that connects to a server. */
export const connectionRules = {
  url: optional(
    custom(
      isRedisUrl,
      'give a URL such as redis://localhost:6379/0 or rediss://…; its path is the number of the database, and special characters of a password are encoded, such as %25 for %',
    ),
  ),
  client: optional(
    having<AnyRedisClient>(
      'give a client such as createClient() of redis, connected',
      'sendCommand',
      'duplicate',
    ),
  ),
  prefix: withDefault(text({ maxLength: 200 }), DEFAULT_PREFIX),
  name: withDefault(text(), 'redis'),
  ...clockAndRandomRules,
  timeoutMs: withDefault(milliseconds({ min: 4 }), DEFAULT_TIMEOUT_MS),
  reconnectBaseMs: withDefault(milliseconds({ min: 1 }), DEFAULT_RECONNECT_BASE_MS),
  reconnectMaxMs: withDefault(milliseconds({ min: 1 }), DEFAULT_RECONNECT_MAX_MS),
  onError: withDefault(listener<(error: unknown) => void>(), () => {}),
}

/** Options of `openRedis()` and of the parts of its store. */
export interface RedisOptions extends RedisConnectionOptions {
  /** How letters are written at rest [JSON]. */
  readonly codec?: Codec | undefined
  /** How long a decided letter, resolved or discarded, is kept after its last write, by the server's time [7 days]. */
  readonly retentionMs?: number | 'never' | undefined
  /**
   * The same for undecided letters without `expiresAfterMs`: dead, quarantined or parked. The store then
   * deletes events that were never handled ['never'].
   */
  readonly expireUndecidedAfterMs?: number | 'never' | undefined
  /** The number of letters that the store holds; it refuses more [no limit but the server's memory]. */
  readonly maxLetters?: number | undefined
  /** How long a done pair of the ledger stays done [7 days]. */
  readonly ledgerRetentionMs?: number | undefined
}

const rules = {
  ...connectionRules,
  codec: codecRule,
  retentionMs: withDefault(retentionRule, DEFAULT_RETENTION_MS),
  expireUndecidedAfterMs: withDefault(retentionRule, 'never'),
  maxLetters: withDefault(integer({ min: 1 }), Number.MAX_SAFE_INTEGER),
  ledgerRetentionMs: withDefault(milliseconds({ min: 1 }), DEFAULT_LEDGER_RETENTION_MS),
}

export type RedisSettings = Resolved<typeof rules>

export function resolveRedis(subject: string, options: RedisOptions): RedisSettings {
  return resolveConnected(subject, rules, options)
}

/** Options of `redisStreams()`. A broker that keeps letters itself keeps them as `redisDeadLetters` does. */
export interface RedisStreamsOptions extends Omit<RedisOptions, 'ledgerRetentionMs'> {
  /** How long after the death of a process its open deliveries are delivered again; up to a third longer if other handlers ran before [30 s]. */
  readonly leaseMs?: number | undefined
  /** The longest wait between two polls, in ms. It bounds how late the retries of a dead process are noticed [1 s]. */
  readonly maxPollMs?: number | undefined
  /** The number of unfinished events in the stream of a channel; the broker refuses more [no limit but the server's memory]. */
  readonly maxLength?: number | undefined
}

const streamsRules = {
  ...rules,
  leaseMs: withDefault(milliseconds({ min: 30 }), DEFAULT_LEASE_MS),
  maxPollMs: withDefault(milliseconds({ min: 1 }), DEFAULT_MAX_POLL_MS),
  maxLength: optional(integer({ min: 1 })),
}

export type RedisStreamsSettings = Resolved<typeof streamsRules>

export function resolveStreams(subject: string, options: RedisStreamsOptions): RedisStreamsSettings {
  const settings = resolveConnected(subject, streamsRules, options)
  // The server takes whole milliseconds only.
  const { leaseMs, maxPollMs } = settings
  return { ...settings, leaseMs: Math.ceil(leaseMs), maxPollMs: Math.ceil(maxPollMs) }
}

export type RedisConnectionSettings = Resolved<typeof connectionRules>

/** Resolves the options of every part. They name one server. A prefix in the URL counts if no other was given. */
export function resolveConnected<R extends typeof connectionRules>(
  subject: string,
  rules: R,
  options: unknown,
): Resolved<R> {
  const settings = resolveOptions(subject, rules, options)
  const { url, client, prefix } = settings as RedisConnectionSettings
  if ((url === undefined) === (client === undefined)) {
    const received = url === undefined ? 'neither url nor client' : 'url and client'
    const remedy = 'give exactly one: url for a connection that Lazaret opens, client for your own'
    throw new OptionsError(subject, [{ path: `${subject}.url`, received, remedy }])
  }
  const named = url === undefined ? null : new URL(url).searchParams.get('prefix')
  return { ...settings, prefix: prefix === DEFAULT_PREFIX && named ? named : prefix }
}

/** The server of a URL, for people: without user, password and parameters. */
export function serverOf(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url)
    return `${protocol}//${host}${pathname}`
  } catch {
    return withoutCredentials(url)
  }
}

/** The path is the number of the database. */
function isRedisUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !/^rediss?:\/\/[^\s]+$/.test(value) || !URL.canParse(value)) return false
  const { pathname, username, password } = new URL(value)
  return /^(?:\/\d*)?$/.test(pathname) && isEncoded(username) && isEncoded(password)
}

/** Whether each % begins the code of a character. */
function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
