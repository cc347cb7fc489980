import { describe, expect, it } from 'vitest'
import * as file from '../../src/adapters/file/index.ts'
import * as kafka from '../../src/adapters/kafka/index.ts'
import * as nats from '../../src/adapters/nats/index.ts'
import * as postgres from '../../src/adapters/postgres/index.ts'
import * as rabbitmq from '../../src/adapters/rabbitmq/index.ts'
import * as redis from '../../src/adapters/redis/index.ts'
import * as sqlite from '../../src/adapters/sqlite/index.ts'
import { optionFields } from '../support/option-docs.ts'
import { readPage } from './markdown.ts'

interface AdapterPage {
  readonly path: string
  /** The option types whose fields the tables of the page list. */
  readonly types: readonly string[]
  /** Fields of these types that do not belong to the page. */
  readonly without?: readonly string[]
  /** The defaults that the code exports as constants. */
  readonly defaults?: Readonly<Record<string, number>>
}

const PAGES: readonly AdapterPage[] = [
  {
    path: 'docs/brokers/redis.md',
    types: ['RedisConnectionOptions', 'RedisOptions', 'RedisStreamsOptions'],
    without: ['ledgerRetentionMs'],
    defaults: {
      leaseMs: redis.DEFAULT_LEASE_MS,
      maxPollMs: redis.DEFAULT_MAX_POLL_MS,
      retentionMs: redis.DEFAULT_RETENTION_MS,
      timeoutMs: redis.DEFAULT_TIMEOUT_MS,
      reconnectBaseMs: redis.DEFAULT_RECONNECT_BASE_MS,
      reconnectMaxMs: redis.DEFAULT_RECONNECT_MAX_MS,
    },
  },
  {
    path: 'docs/brokers/postgres.md',
    types: ['PostgresOptions', 'OpenPostgresOptions'],
    defaults: {
      leaseMs: postgres.DEFAULT_LEASE_MS,
      maxPollMs: postgres.DEFAULT_MAX_POLL_MS,
      ledgerRetentionMs: postgres.DEFAULT_LEDGER_RETENTION_MS,
    },
  },
  {
    path: 'docs/brokers/rabbitmq.md',
    types: ['RabbitmqOptions', 'CollectorOptions'],
    defaults: {
      connectTimeoutMs: rabbitmq.DEFAULT_CONNECT_TIMEOUT_MS,
      confirmTimeoutMs: rabbitmq.DEFAULT_CONFIRM_TIMEOUT_MS,
      reconnectBaseMs: rabbitmq.DEFAULT_RECONNECT_BASE_MS,
      reconnectMaxMs: rabbitmq.DEFAULT_RECONNECT_MAX_MS,
      deliveryLimit: rabbitmq.DEFAULT_DELIVERY_LIMIT,
      heartbeatSeconds: rabbitmq.DEFAULT_HEARTBEAT_SECONDS,
      prefetch: rabbitmq.DEFAULT_COLLECT_PREFETCH,
      peekLimit: rabbitmq.DEFAULT_PEEK_LIMIT,
      pollIntervalMs: rabbitmq.DEFAULT_POLL_INTERVAL_MS,
      handledAfterMs: rabbitmq.DEFAULT_HANDLED_AFTER_MS,
    },
  },
  {
    path: 'docs/brokers/kafka.md',
    types: ['KafkaOptions', 'KafkaCollectorOptions'],
    defaults: {
      connectTimeoutMs: kafka.DEFAULT_CONNECT_TIMEOUT_MS,
      requestTimeoutMs: kafka.DEFAULT_REQUEST_TIMEOUT_MS,
      publishTimeoutMs: kafka.DEFAULT_PUBLISH_TIMEOUT_MS,
      metadataMaxAgeMs: kafka.DEFAULT_METADATA_MAX_AGE_MS,
      heartbeatMs: kafka.DEFAULT_HEARTBEAT_MS,
      drainMs: kafka.DEFAULT_DRAIN_MS,
      bufferBytes: kafka.DEFAULT_BUFFER_BYTES,
      fetchBytes: kafka.DEFAULT_FETCH_BYTES,
      pollIntervalMs: kafka.DEFAULT_POLL_INTERVAL_MS,
      handledAfterMs: kafka.DEFAULT_HANDLED_AFTER_MS,
    },
  },
  {
    path: 'docs/brokers/nats.md',
    types: ['NatsOptions', 'NatsCollectorOptions'],
    defaults: {
      connectTimeoutMs: nats.DEFAULT_CONNECT_TIMEOUT_MS,
      requestTimeoutMs: nats.DEFAULT_REQUEST_TIMEOUT_MS,
      publishTimeoutMs: nats.DEFAULT_PUBLISH_TIMEOUT_MS,
      ackWaitMs: nats.DEFAULT_ACK_WAIT_MS,
      leaseMs: nats.DEFAULT_LEASE_MS,
      pollIntervalMs: nats.DEFAULT_POLL_INTERVAL_MS,
      handledAfterMs: nats.DEFAULT_HANDLED_AFTER_MS,
    },
  },
  {
    path: 'docs/stores/redis.md',
    types: ['RedisConnectionOptions', 'RedisOptions'],
    defaults: {
      retentionMs: redis.DEFAULT_RETENTION_MS,
      ledgerRetentionMs: redis.DEFAULT_LEDGER_RETENTION_MS,
      timeoutMs: redis.DEFAULT_TIMEOUT_MS,
      reconnectBaseMs: redis.DEFAULT_RECONNECT_BASE_MS,
      reconnectMaxMs: redis.DEFAULT_RECONNECT_MAX_MS,
    },
  },
  {
    path: 'docs/stores/file.md',
    types: ['JournalOptions', 'FileDeadLettersOptions', 'FileSpillOptions', 'FileJournalOptions'],
    defaults: {
      rotateBytes: file.DEFAULT_ROTATE_BYTES,
      retentionMs: file.DEFAULT_RETENTION_MS,
      maxEvents: file.DEFAULT_MAX_JOURNAL_EVENTS,
    },
  },
  {
    path: 'docs/stores/sqlite.md',
    types: ['SqliteOptions'],
    defaults: {
      leaseMs: sqlite.DEFAULT_LEASE_MS,
      maxPollMs: sqlite.DEFAULT_MAX_POLL_MS,
      maxPerChannel: sqlite.DEFAULT_MAX_PER_CHANNEL,
      maxJournalEvents: sqlite.DEFAULT_MAX_JOURNAL_EVENTS,
      ledgerRetentionMs: sqlite.DEFAULT_LEDGER_RETENTION_MS,
      busyTimeoutMs: sqlite.DEFAULT_BUSY_TIMEOUT_MS,
    },
  },
  { path: 'docs/sinks/elasticsearch.md', types: ['ElasticsearchOptions'] },
  { path: 'docs/sinks/email.md', types: ['EmailOptions'] },
  { path: 'docs/sinks/file.md', types: ['FileSinkOptions'], without: ['rotate'] },
  { path: 'docs/sinks/http.md', types: ['HttpSinkOptions', 'WebhookOptions'] },
  { path: 'docs/sinks/loki.md', types: ['LokiOptions'] },
  { path: 'docs/sinks/otlp.md', types: ['OtlpOptions'] },
  { path: 'docs/sinks/pagerduty.md', types: ['PagerdutyOptions'] },
  { path: 'docs/sinks/sentry.md', types: ['SentryOptions'] },
  { path: 'docs/sinks/slack.md', types: ['SlackOptions'] },
  { path: 'docs/sinks/stdout.md', types: ['StdoutOptions'] },
]

const fields = optionFields().map(({ place }) => place.split(' ')[1]!.split('.'))

/** Each option that a table of the page lists, with the cell of its default. */
function listedOptions(path: string): ReadonlyMap<string, string> {
  const tables = readPage(path).text.matchAll(/^\| option[^\n]*\n\| ---[^\n]*\n((?:\|[^\n]*\n)+)/gm)
  const rows = [...tables].flatMap(([, body]) => body!.trimEnd().split('\n'))
  return new Map(
    rows.flatMap(row => {
      const [, names = '', standard = ''] = row.split('|')
      return [...names.matchAll(/`([\w.]+)`/g)].map(([, name]) => [name!, standard.trim()] as const)
    }),
  )
}

describe.each(PAGES)('F8: $path', ({ path, types, without = [], defaults = {} }) => {
  const listed = listedOptions(path)

  it('lists every option of the code', () => {
    const known = fields.filter(([type]) => types.includes(type!)).map(([, field]) => field!)
    expect(known.length).toBeGreaterThan(0)
    const missing = known.filter(field => !listed.has(field) && !without.includes(field))
    expect(missing).toEqual([])
  })

  it('gives every option a default, or says that it is required', () => {
    expect([...listed].filter(([, standard]) => standard === '')).toEqual([])
  })

  it.each(Object.entries(defaults))('has the default of the code: %s', (option, value) => {
    expect(listed.get(option)).toContain(written(option, value))
  })
})

const DAY_MS = 86_400_000

/** A number as the pages write it: thousands apart, with its unit. */
function written(option: string, value: number): string {
  if (option.endsWith('Ms') && value % DAY_MS === 0) return `${value / DAY_MS} days`
  const digits = value < 10_000 && !option.endsWith('Ms') ? `${value}` : grouped(value)
  return option.endsWith('Ms') ? `${digits} ms` : digits
}

function grouped(value: number): string {
  return `${value}`.replaceAll(/\B(?=(\d{3})+$)/g, ' ')
}
