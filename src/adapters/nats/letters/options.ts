import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { entries, list, listener, milliseconds, text, withDefault } from '../../../core/options/rules.ts'
import { type NatsOptions, type NatsSettings, resolveNats } from '../options.ts'

/** The default of the option `pollIntervalMs`. */
export const DEFAULT_POLL_INTERVAL_MS = 1_000
/** The default of the option `handledAfterMs`. */
export const DEFAULT_HANDLED_AFTER_MS = 60_000

/** Options of `natsCollector()`. */
export interface NatsCollectorOptions
  extends Pick<
    NatsOptions,
    | 'url'
    | 'name'
    | 'connectionName'
    | 'user'
    | 'password'
    | 'token'
    | 'tls'
    | 'authenticator'
    | 'replicas'
    | 'client'
    | 'clock'
    | 'random'
    | 'connectTimeoutMs'
  > {
  /** Names of dead-letter streams, with * for any characters [none]. */
  readonly streams?: readonly string[] | undefined
  /**
   * Names of streams, with * for any characters [none]. A message that a consumer of such a stream did not acknowledge
   * before its `max_deliver` becomes a letter.
   */
  readonly maxDeliver?: readonly string[] | undefined
  /** The subjects that messages return to, by dead-letter stream, where the messages do not say it [none]. */
  readonly originalSubjects?: Readonly<Record<string, string>> | undefined
  /** How often the streams are looked at [1 s]. */
  readonly pollIntervalMs?: number | undefined
  /** So long after it was sent, a letter that did not come back counts as handled [1 min]. */
  readonly handledAfterMs?: number | undefined
  /** Receives errors of the collector [none]. The collector tries again in any case. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const MAX_NAME_LENGTH = 255
const names = withDefault(list(text({ maxLength: MAX_NAME_LENGTH }), { maxItems: 1_000 }), [])

const rules = {
  streams: names,
  maxDeliver: names,
  originalSubjects: withDefault(
    entries(
      text({ maxLength: MAX_NAME_LENGTH }),
      'give a map of dead-letter streams to the subjects that their messages return to',
    ),
    {},
  ),
  pollIntervalMs: withDefault(milliseconds({ min: 10 }), DEFAULT_POLL_INTERVAL_MS),
  handledAfterMs: withDefault(milliseconds({ min: 10 }), DEFAULT_HANDLED_AFTER_MS),
  onError: withDefault(listener<(error: unknown) => void>(), () => {}),
}

export interface NatsCollectorSettings extends Resolved<typeof rules> {
  readonly connection: NatsSettings
}

export function resolveNatsCollector(options: NatsCollectorOptions): NatsCollectorSettings {
  const { streams, maxDeliver, originalSubjects, pollIntervalMs, handledAfterMs, onError, ...rest } = options
  const own = { streams, maxDeliver, originalSubjects, pollIntervalMs, handledAfterMs, onError }
  return { ...resolveOptions('natsCollector', rules, own), connection: resolveNats(rest) }
}
