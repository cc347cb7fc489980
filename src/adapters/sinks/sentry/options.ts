import type { LazaretEvent } from '../../../core/event/event.ts'
import { sentryDsn } from '../../../core/options/addresses.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import {
  flag,
  having,
  integer,
  list,
  oneOf,
  optional,
  synchronous,
  text,
  withDefault,
} from '../../../core/options/rules.ts'
import { type Clock, clockRule } from '../../../ports/clock.ts'
import { SEVERITIES, type Severity } from '../severity.ts'
import { errorInPayload, type SentryErrorLike } from './event.ts'
import type { SentryClient } from './sdk.ts'

const DEFAULT_SENTRY_CONCURRENCY = 10
const DEFAULT_MAX_BREADCRUMBS = 100

/** Options of `sentry()`. Give either `dsn` or `client`. */
export interface SentryOptions {
  /** The DSN of the project [none: `client` is used]. The sink makes a client for it. */
  readonly dsn?: string | undefined
  /** Your own client, with its hooks and filters [none: `dsn` is used]. The sink does not close it. */
  readonly client?: SentryClient | undefined
  /** The release that Sentry shows, with `dsn` only [none]. */
  readonly release?: string | undefined
  /** The environment that Sentry shows, with `dsn` only [none]. */
  readonly environment?: string | undefined
  /** Severities that become events of Sentry, and so issues [error, fatal]. */
  readonly capture?: readonly Severity[] | undefined
  /** What becomes of the others: shown with the next event, sent as structured logs, or nothing [breadcrumbs]. */
  readonly others?: 'breadcrumbs' | 'logs' | 'nothing' | undefined
  /** Kept for the next event [100]. */
  readonly maxBreadcrumbs?: number | undefined
  /** Returns further tags of an event [none]. The sink keeps 50 of at most 200 characters. */
  readonly tags?: ((event: LazaretEvent) => Readonly<Record<string, string>> | undefined) | undefined
  /** What is one issue [the type of the event; with an error in it, what Sentry makes of that]. */
  readonly fingerprint?: ((event: LazaretEvent) => readonly string[] | undefined) | undefined
  /** The error that an event tells of [`error`, `err` or `exception` of the payload]. */
  readonly error?: ((event: LazaretEvent) => SentryErrorLike | undefined) | undefined
  /** Whether Sentry gets to see payloads [true]. */
  readonly payload?: boolean | undefined
  /** Requests at once: Sentry takes one event with each [10]. */
  readonly concurrency?: number | undefined
  /** Supplies the time and the timers [the system clock]. Replace it in tests. */
  readonly clock?: Clock | undefined
}

const rules = {
  dsn: optional(sentryDsn),
  client: optional(
    having<SentryClient>('give a client such as Sentry.getClient()', 'captureEvent', 'sendEnvelope'),
  ),
  release: optional(text()),
  environment: optional(text()),
  capture: withDefault(list(oneOf(...SEVERITIES)), Object.freeze(['error', 'fatal'] as const)),
  others: withDefault(oneOf('breadcrumbs', 'logs', 'nothing'), 'breadcrumbs'),
  maxBreadcrumbs: withDefault(integer({ min: 0, max: 1_000 }), DEFAULT_MAX_BREADCRUMBS),
  tags: withDefault(synchronous<NonNullable<SentryOptions['tags']>>(), () => undefined),
  fingerprint: withDefault(synchronous<NonNullable<SentryOptions['fingerprint']>>(), () => undefined),
  error: withDefault(synchronous<NonNullable<SentryOptions['error']>>(), errorInPayload),
  payload: withDefault(flag(), true),
  concurrency: withDefault(integer({ min: 1, max: 100 }), DEFAULT_SENTRY_CONCURRENCY),
  clock: clockRule,
}

export type SentrySettings = Resolved<typeof rules>

export function resolveSentryOptions(options: SentryOptions): SentrySettings {
  return resolveOptions('sentry', rules, options, ({ dsn, client, release, environment }, fault) => {
    if ((dsn === undefined) === (client === undefined)) fault('dsn', 'give either dsn or client')
    if (client === undefined) return
    if (release !== undefined) fault('release', 'remove it; your client sets its own')
    if (environment !== undefined) fault('environment', 'remove it; your client sets its own')
  })
}
