import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import {
  entries,
  integer,
  list,
  listener,
  milliseconds,
  text,
  withDefault,
} from '../../../core/options/rules.ts'
import { type KafkaOptions, type KafkaSettings, resolveKafka } from '../options.ts'

/** The default of the option `fetchBytes`. */
export const DEFAULT_FETCH_BYTES = 1_048_576
/** The default of the option `pollIntervalMs`. */
export const DEFAULT_POLL_INTERVAL_MS = 30_000
/** The default of the option `handledAfterMs`. */
export const DEFAULT_HANDLED_AFTER_MS = 60_000

/** Options of `kafkaCollector()`. */
export interface KafkaCollectorOptions
  extends Pick<
    KafkaOptions,
    'brokers' | 'name' | 'clientId' | 'tls' | 'sasl' | 'client' | 'clock' | 'random' | 'connectTimeoutMs'
  > {
  /** Names of dead-letter topics, with * for any characters. */
  readonly topics: readonly string[]
  /**
   * The consumer group that stores how far the collector has read ['lazaret-collector.NAME']. Nobody else may use it.
   * Collectors with different stores need different groups.
   */
  readonly group?: string | undefined
  /** The original topics of dead-letter topics whose records do not say it [the name without .DLT, -dlq and the like]. */
  readonly originalTopics?: Readonly<Record<string, string>> | undefined
  /** The size of the records that are read and saved at once, in bytes [1 048 576]. */
  readonly fetchBytes?: number | undefined
  /** How often topics are listed [30 s]. */
  readonly pollIntervalMs?: number | undefined
  /** So long after it was sent, a letter that did not come back counts as handled [1 min]. */
  readonly handledAfterMs?: number | undefined
  /** Receives errors of the collector [none]. The collector tries again in any case. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const MAX_TOPIC_LENGTH = 249

const rules = {
  topics: list(text({ maxLength: MAX_TOPIC_LENGTH }), { minItems: 1, maxItems: 1_000 }),
  group: withDefault(text({ maxLength: MAX_TOPIC_LENGTH }), ''),
  originalTopics: withDefault(
    entries(
      text({ maxLength: MAX_TOPIC_LENGTH }),
      'give a map of dead-letter topics to their original topics',
    ),
    {},
  ),
  fetchBytes: withDefault(integer({ min: 1_024, max: 268_435_456 }), DEFAULT_FETCH_BYTES),
  pollIntervalMs: withDefault(milliseconds({ min: 10 }), DEFAULT_POLL_INTERVAL_MS),
  handledAfterMs: withDefault(milliseconds({ min: 10 }), DEFAULT_HANDLED_AFTER_MS),
  onError: withDefault(listener<(error: unknown) => void>(), () => {}),
}

export interface KafkaCollectorSettings extends Resolved<typeof rules> {
  readonly connection: KafkaSettings
}

export function resolveKafkaCollector(options: KafkaCollectorOptions): KafkaCollectorSettings {
  const { brokers, name, clientId, tls, sasl, client, clock, random, connectTimeoutMs, ...rest } = options
  const connection = resolveKafka({
    brokers,
    name,
    clientId,
    tls,
    sasl,
    client,
    clock,
    random,
    connectTimeoutMs,
  })
  const settings = resolveOptions('kafkaCollector', rules, rest)
  return { ...settings, group: settings.group || `lazaret-collector.${connection.name}`, connection }
}
