import { type Relations, type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import {
  custom,
  derived,
  having,
  integer,
  list,
  listener,
  milliseconds,
  oneOf,
  optional,
  type Rule,
  text,
  withDefault,
} from '../../core/options/rules.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../../ports/clock.ts'
import type { KafkaClient } from './connection/client.ts'

/** The default of the option `retryStepsMs`. */
export const DEFAULT_RETRY_STEPS_MS: readonly number[] = Object.freeze([5_000, 60_000, 600_000, 3_600_000])
/** The default of the option `topic`. */
export const DEFAULT_TOPIC = '{channel}'
/** The default of the option `group`. */
export const DEFAULT_GROUP = '{channel}.{handler}'
/** The default of the option `retryTopic`. */
export const DEFAULT_RETRY_TOPIC = '{group}.retry.{delay}'
/** The default of the option `deadLetterTopic`. */
export const DEFAULT_DEAD_LETTER_TOPIC = '{group}.dlq'
/** The default of the option `heldTopic`. */
export const DEFAULT_HELD_TOPIC = '{group}.held'
/** The default of the option `connectTimeoutMs`. */
export const DEFAULT_CONNECT_TIMEOUT_MS = 30_000
/** The default of the option `requestTimeoutMs`. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 15_000
/** The default of the option `publishTimeoutMs`. */
export const DEFAULT_PUBLISH_TIMEOUT_MS = 30_000
/** The default of the option `metadataMaxAgeMs`. */
export const DEFAULT_METADATA_MAX_AGE_MS = 300_000
/** The default of the option `heartbeatMs`. */
export const DEFAULT_HEARTBEAT_MS = 1_000
/** The default of the option `drainMs`. */
export const DEFAULT_DRAIN_MS = 10_000
/** The default of the option `bufferBytes`. */
export const DEFAULT_BUFFER_BYTES = 33_554_432

/** How a client proves who it is. */
export interface KafkaSasl {
  /** The mechanism that the brokers offer. */
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER'
  /** The name of the user [none]. */
  readonly username?: string | undefined
  /** The password of the user [none]. */
  readonly password?: string | undefined
  /** The token of OAUTHBEARER, or a function that gets a new one [none]. */
  readonly token?: string | (() => string | Promise<string>) | undefined
}

/** A change of the connections, for logs and alerts. */
export type KafkaConnectionNews = { readonly state: 'up' } | { readonly state: 'down'; readonly error: Error }

/** Options of `kafka()`. */
export interface KafkaOptions extends ClockAndRandomOptions {
  /** The brokers to connect to first, each as `host:port`. */
  readonly brokers: readonly string[]
  /** Names the broker in origins and errors ['kafka']. */
  readonly name?: string | undefined
  /** The name that the brokers see in their logs and quotas ['lazaret']. */
  readonly clientId?: string | undefined
  /** Connects with TLS: the options of `tls.connect()` of Node, or an empty object [no TLS]. */
  readonly tls?: object | undefined
  /** The login [none]. */
  readonly sasl?: KafkaSasl | undefined
  /**
   * The topics that the broker creates. `all`: everything. `own`: all but the topic of the channel, that is retries, dead
   * letters and held events. `none`: nothing, because `lazaret kafka declare` has done it [all].
   */
  readonly declare?: 'all' | 'own' | 'none' | undefined
  /** The number of partitions of the channel topics that it creates [the default of the brokers]. */
  readonly partitions?: number | undefined
  /** The number of replicas of the topics that it creates [the default of the brokers]. */
  readonly replicationFactor?: number | undefined
  /** The topic of a channel; `{channel}` is the name of the channel ['{channel}']. */
  readonly topic?: string | undefined
  /** The consumer group of a handler ['{channel}.{handler}']. */
  readonly group?: string | undefined
  /** The topics where retries wait; `{delay}` is one of the steps, such as `5s` ['{group}.retry.{delay}']. */
  readonly retryTopic?: string | undefined
  /** The topic of dead letters ['{group}.dlq']. */
  readonly deadLetterTopic?: string | undefined
  /** The topic of events that wait for another one of their key ['{group}.held']. */
  readonly heldTopic?: string | undefined
  /** The waits with a retry topic of their own, in ms [5 000, 60 000, 600 000, 3 600 000]. */
  readonly retryStepsMs?: readonly number[] | undefined
  /** Where a handler begins that subscribes for the first time: after what is in the topic, or with it [latest]. */
  readonly from?: 'latest' | 'earliest' | undefined
  /** What a consumer with order keeps in order: the events of a key, or those of a whole partition [key]. */
  readonly orderBy?: 'key' | 'partition' | undefined
  /** How long a call waits for a connection, over all attempts to connect, in ms [30 000]. */
  readonly connectTimeoutMs?: number | undefined
  /** How long a broker may take to answer, in ms [15 000]. */
  readonly requestTimeoutMs?: number | undefined
  /** How long a message is sent again before publishing fails, in ms [30 000]. */
  readonly publishTimeoutMs?: number | undefined
  /** After this time a publisher asks again how many partitions its topics have, in ms [300 000]. */
  readonly metadataMaxAgeMs?: number | undefined
  /** The longest time between two heartbeats of a consumer, in ms [1 000]. */
  readonly heartbeatMs?: number | undefined
  /**
   * How long the group waits for a silent consumer before others get its partitions, in ms [the default of the brokers, 45 000]. The
   * brokers allow no less than their `group.consumer.min.session.timeout.ms`, which is 45 000 unless it is lowered.
   */
  readonly sessionTimeoutMs?: number | undefined
  /** How long handlers may finish when their partition goes to another consumer, in ms [10 000]. */
  readonly drainMs?: number | undefined
  /** The size of the messages that a subscription reads ahead, in bytes [33 554 432]. */
  readonly bufferBytes?: number | undefined
  /** Receives the changes of the connections: up, down [none]. Use it for logs and alerts. */
  readonly onConnection?: ((news: KafkaConnectionNews) => void) | undefined
  /** The module @platformatic/kafka [loaded by its name]. Give it when a bundler cannot find the module. */
  readonly client?: object | undefined
}

const WEEK_MS = 604_800_000
const ADDRESS = /^(?:\[[0-9a-f:.]+\]|[^\s:/]+):(\d{1,5})$/i

const rules = {
  brokers: list(address(), { minItems: 1, maxItems: 100 }),
  name: withDefault(text(), 'kafka'),
  clientId: withDefault(text({ maxLength: 200 }), 'lazaret'),
  tls: optional(having<object>('give the options of tls.connect(), or an empty object')),
  sasl: optional(sasl()),
  declare: withDefault(oneOf('all', 'own', 'none'), 'all'),
  partitions: optional(integer({ min: 1, max: 100_000 })),
  replicationFactor: optional(integer({ min: 1, max: 100 })),
  topic: withDefault(template('{channel}'), DEFAULT_TOPIC),
  group: withDefault(template('{channel}', '{handler}'), DEFAULT_GROUP),
  retryTopic: withDefault(template('{group}', '{delay}'), DEFAULT_RETRY_TOPIC),
  deadLetterTopic: withDefault(template('{group}'), DEFAULT_DEAD_LETTER_TOPIC),
  heldTopic: withDefault(template('{group}'), DEFAULT_HELD_TOPIC),
  retryStepsMs: withDefault(
    derived(list(integer({ min: 1_000, max: WEEK_MS }), { minItems: 1, maxItems: 20 }), inOrder),
    DEFAULT_RETRY_STEPS_MS,
  ),
  from: withDefault(oneOf('latest', 'earliest'), 'latest'),
  orderBy: withDefault(oneOf('key', 'partition'), 'key'),
  connectTimeoutMs: withDefault(milliseconds({ min: 1 }), DEFAULT_CONNECT_TIMEOUT_MS),
  requestTimeoutMs: withDefault(milliseconds({ min: 1_000 }), DEFAULT_REQUEST_TIMEOUT_MS),
  publishTimeoutMs: withDefault(milliseconds({ min: 1 }), DEFAULT_PUBLISH_TIMEOUT_MS),
  metadataMaxAgeMs: withDefault(milliseconds({ min: 1_000 }), DEFAULT_METADATA_MAX_AGE_MS),
  heartbeatMs: withDefault(milliseconds({ min: 50, max: 10_000 }), DEFAULT_HEARTBEAT_MS),
  sessionTimeoutMs: optional(milliseconds({ min: 500, max: 3_600_000 })),
  drainMs: withDefault(milliseconds({ max: 120_000 }), DEFAULT_DRAIN_MS),
  bufferBytes: withDefault(integer({ min: 1_048_576 }), DEFAULT_BUFFER_BYTES),
  onConnection: withDefault(listener<(news: KafkaConnectionNews) => void>(), () => {}),
  client: optional(having<KafkaClient>('give the module @platformatic/kafka', 'ConnectionPool')),
  ...clockAndRandomRules,
}

const relations: Relations<typeof rules> = ({ retryTopic, deadLetterTopic, heldTopic, topic }, fault) => {
  if (new Set([retryTopic, deadLetterTopic, heldTopic, topic]).size < 4)
    fault('deadLetterTopic', 'give each kind of topic a name of its own')
}

export type KafkaSettings = Resolved<typeof rules>

export function resolveKafka(options: KafkaOptions): KafkaSettings {
  return resolveOptions('kafka', rules, options, relations)
}

function inOrder(steps: readonly number[]): readonly number[] {
  return Object.freeze([...new Set(steps)].sort((a, b) => a - b))
}

function address(): Rule<string> {
  return custom(
    (value): value is string =>
      typeof value === 'string' && Number(ADDRESS.exec(value)?.[1] ?? 0) > 0 && value.length < 300,
    "give an address such as 'kafka-1:9092'",
    { kind: 'text', pattern: ADDRESS },
  )
}

/** A name of a topic or group in which every placeholder occurs once. */
function template(...placeholders: readonly string[]): Rule<string> {
  return custom(
    (value): value is string =>
      typeof value === 'string' &&
      placeholders.every(each => value.split(each).length === 2) &&
      /^[A-Za-z0-9._-]*$/.test(placeholders.reduce((rest, each) => rest.replace(each, ''), value)),
    `give letters, digits, '.', '_' or '-' with ${placeholders.join(' and ')}, once each`,
    { kind: 'text' },
  )
}

/** The values are not shown: they contain the password. */
function sasl(): Rule<KafkaSasl> {
  return {
    read(value, path, faults) {
      const { mechanism } = (value ?? {}) as Partial<KafkaSasl>
      if (/^(?:PLAIN|SCRAM-SHA-256|SCRAM-SHA-512|OAUTHBEARER)$/.test(mechanism ?? ''))
        return value as KafkaSasl
      faults.list.push({
        path,
        received: 'a value that is not shown',
        remedy:
          "give { mechanism: 'SCRAM-SHA-512', username, password }, or PLAIN, SCRAM-SHA-256, OAUTHBEARER",
      })
      return { mechanism: 'PLAIN' }
    },
  }
}
