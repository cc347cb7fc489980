import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import {
  custom,
  having,
  integer,
  listener,
  milliseconds,
  oneOf,
  optional,
  type Rule,
  text,
  withDefault,
} from '../../core/options/rules.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../../ports/clock.ts'
import type { NatsClient } from './connection/client.ts'
import { readUrl } from './url.ts'

/** The default of the option `connectTimeoutMs`. */
export const DEFAULT_CONNECT_TIMEOUT_MS = 30_000
/** The default of the option `requestTimeoutMs`. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 5_000
/** The default of the option `publishTimeoutMs`. */
export const DEFAULT_PUBLISH_TIMEOUT_MS = 30_000
/** A stream recognises a message that is sent again for two minutes. */
const MAX_PUBLISH_TIMEOUT_MS = 100_000
/** The default of the option `ackWaitMs`. */
export const DEFAULT_ACK_WAIT_MS = 30_000
/** The default of the option `leaseMs`. */
export const DEFAULT_LEASE_MS = 10_000

/** A change of the connection, for logs and alerts. */
export type NatsConnectionNews = { readonly state: 'up' } | { readonly state: 'down'; readonly error: Error }

/** Options of `nats()`. */
export interface NatsOptions extends ClockAndRandomOptions {
  /** One or more servers, with commas between them, such as `nats://n1:4222,nats://n2:4222`. `tls://` uses TLS. */
  readonly url: string
  /** The name of the broker in letters, metrics and errors [nats]. */
  readonly name?: string | undefined
  /** The name of the connection, which the server shows [lazaret]. */
  readonly connectionName?: string | undefined
  /** The name of the user [the one in the URL]. */
  readonly user?: string | undefined
  /** The password of the user [the one in the URL]. */
  readonly password?: string | undefined
  /** The token of the account [none]. */
  readonly token?: string | undefined
  /** Options of the client for TLS, such as `caFile` [none]. An empty object uses TLS with the defaults. */
  readonly tls?: object | undefined
  /** An authenticator of the client, such as `credsAuthenticator(bytes)` [none]. */
  readonly authenticator?: object | undefined
  /**
   * The streams and consumers that Lazaret creates when they are missing [all]. `own`: all but the stream of a channel.
   * `none`: nothing; use `lazaret nats declare`.
   */
  readonly declare?: 'all' | 'own' | 'none' | undefined
  /** The replicas of new streams [1]. Use 3 in a cluster. */
  readonly replicas?: number | undefined
  /**
   * How long the stream of a channel keeps an event [interest]. `interest`: until every handler has settled it. `limits`:
   * until the limits of the stream remove it, whether handled or not.
   */
  readonly retention?: 'interest' | 'limits' | undefined
  /** Where a handler begins that subscribes for the first time: after what is in the stream, or with it [new]. */
  readonly from?: 'new' | 'all' | undefined
  /** How long a connection attempt goes on before a call fails, in ms [30 000]. */
  readonly connectTimeoutMs?: number | undefined
  /** How long the server may take to answer, in ms [5 000]. */
  readonly requestTimeoutMs?: number | undefined
  /** How long a message is sent again before publishing fails, in ms [30 000]. At most 100 000: later the stream would have it twice. */
  readonly publishTimeoutMs?: number | undefined
  /** After this time without a sign of its consumer, the server delivers an event again, in ms [30 000]. */
  readonly ackWaitMs?: number | undefined
  /** After this time without a sign of its owner, another consumer keeps the order of keys, in ms [10 000]. */
  readonly leaseMs?: number | undefined
  /** Receives the changes of the connection: up, down [none]. Use it for logs and alerts. */
  readonly onConnection?: ((news: NatsConnectionNews) => void) | undefined
  /** The module @nats-io/transport-node [loaded by its name]. Give it when a bundler cannot find the module. */
  readonly client?: object | undefined
}

const rules = {
  url: serverList(),
  name: withDefault(text(), 'nats'),
  connectionName: withDefault(text({ maxLength: 200 }), 'lazaret'),
  user: optional(text()),
  password: optional(text()),
  token: optional(text()),
  tls: optional(having<object>('give the TLS options of the client, or an empty object')),
  authenticator: optional(
    custom(
      (value): value is object => typeof value === 'function' || Array.isArray(value),
      'give an authenticator of the client, such as credsAuthenticator(bytes)',
    ),
  ),
  declare: withDefault(oneOf('all', 'own', 'none'), 'all'),
  replicas: withDefault(integer({ min: 1, max: 5 }), 1),
  retention: withDefault(oneOf('interest', 'limits'), 'interest'),
  from: withDefault(oneOf('new', 'all'), 'new'),
  connectTimeoutMs: withDefault(milliseconds({ min: 1 }), DEFAULT_CONNECT_TIMEOUT_MS),
  requestTimeoutMs: withDefault(milliseconds({ min: 100 }), DEFAULT_REQUEST_TIMEOUT_MS),
  publishTimeoutMs: withDefault(
    milliseconds({ min: 1, max: MAX_PUBLISH_TIMEOUT_MS }),
    DEFAULT_PUBLISH_TIMEOUT_MS,
  ),
  ackWaitMs: withDefault(milliseconds({ min: 1_000, max: 3_600_000 }), DEFAULT_ACK_WAIT_MS),
  leaseMs: withDefault(milliseconds({ min: 1_000, max: 600_000 }), DEFAULT_LEASE_MS),
  onConnection: withDefault(listener<(news: NatsConnectionNews) => void>(), () => {}),
  client: optional(having<NatsClient>('give the module @nats-io/transport-node', 'connect')),
  ...clockAndRandomRules,
}

export type NatsSettings = Resolved<typeof rules>

export function resolveNats(options: NatsOptions): NatsSettings {
  return resolveOptions('nats', rules, options)
}

/** The value is not shown: it can contain the password. */
function serverList(): Rule<string> {
  return {
    read(value, path, faults) {
      if (typeof value === 'string' && readUrl(value) !== undefined) return value
      faults.list.push({
        path,
        received: 'a value that is not shown',
        remedy: 'give a URL such as nats://localhost:4222, or several with commas between them',
      })
      return ''
    },
  }
}
