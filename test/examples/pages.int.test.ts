import { describe, expect, it } from 'vitest'
import { programsMarked, runProgram } from '../docs/run-program.ts'
import { elasticsearchReceiver } from '../receivers/elasticsearch.ts'
import { lokiReceiver } from '../receivers/loki.ts'
import { otlpReceiver } from '../receivers/otlp.ts'
import { pagerdutyReceiver } from '../receivers/pagerduty.ts'
import { sentryReceiver } from '../receivers/sentry.ts'
import { slackReceiver } from '../receivers/slack.ts'
import { smtpReceiver } from '../receivers/smtp.ts'
import { webhookReceiver } from '../receivers/webhook.ts'
import { findKafka } from '../services/kafka.ts'
import { findNats } from '../services/nats.ts'
import { findPostgres, type PostgresService } from '../services/postgres.ts'
import { findRabbitmq } from '../services/rabbitmq.ts'
import { findRedis } from '../services/redis.ts'
import { TestDatabase } from '../support/postgres.ts'

interface Closable {
  close(): Promise<void>
}

/** A server that blocks of the pages run on, and the environment that tells them where it is. */
interface Server {
  /** The word of the mark `run on …`. */
  readonly name: string
  /** The reason why the server is missing here. */
  readonly missing?: string
  start(): Promise<Closable & { readonly env: Readonly<Record<string, string>> }>
}

function server<S extends Closable>(
  name: string,
  start: () => Promise<S>,
  env: (started: S) => Readonly<Record<string, string>>,
): Server {
  return {
    name,
    async start() {
      const started = await start()
      return { env: env(started), close: () => started.close() }
    },
  }
}

function service<S extends Closable & { readonly url: string }>(
  name: string,
  variable: string,
  found: { readonly found: true; start(): Promise<S> } | { readonly found: false; readonly why: string },
): Server {
  if (!found.found) return { name, missing: found.why, start: () => Promise.reject(new Error(found.why)) }
  return server(
    name,
    () => found.start(),
    ({ url }) => ({ [variable]: url }),
  )
}

/** A database of its own, because the example migrates it and creates a table. */
async function startDatabase(starting: Promise<PostgresService>) {
  const running = await starting
  const database = await TestDatabase.empty(running)
  return {
    url: database.url,
    async close() {
      await database.close()
      await running.close()
    },
  }
}

const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const postgres = await findPostgres()

const kafka = await findKafka()

const SERVERS: readonly Server[] = [
  service('redis', 'REDIS_URL', await findRedis()),
  service('rabbitmq', 'AMQP_URL', await findRabbitmq()),
  service('nats', 'NATS_URL', await findNats()),
  kafka.found
    ? server(
        'kafka',
        () => kafka.start(),
        ({ brokers }) => ({ KAFKA_BROKERS: brokers.join(',') }),
      )
    : service('kafka', 'KAFKA_BROKERS', kafka),
  service(
    'postgres',
    'DATABASE_URL',
    postgres.found ? { found: true, start: () => startDatabase(postgres.start()) } : postgres,
  ),
  server('loki', lokiReceiver, ({ url }) => ({ LOKI_URL: url })),
  server('elasticsearch', elasticsearchReceiver, ({ url }) => ({ ELASTICSEARCH_URL: url })),
  server('otlp', otlpReceiver, ({ logsUrl }) => ({ OTLP_LOGS_URL: logsUrl })),
  server('sentry', sentryReceiver, ({ dsn }) => ({ SENTRY_DSN: dsn })),
  server('slack', slackReceiver, ({ webhook }) => ({ SLACK_WEBHOOK: webhook })),
  server('pagerduty', pagerdutyReceiver, ({ enqueue, routingKey }) => ({
    PAGERDUTY_URL: enqueue,
    PAGERDUTY_KEY: routingKey,
  })),
  server('smtp', smtpReceiver, ({ url }) => ({ SMTP_URL: url })),
  server(
    'webhook',
    () => webhookReceiver({ secret: WEBHOOK_SECRET }),
    ({ url }) => ({ WEBHOOK_URL: url, WEBHOOK_SECRET }),
  ),
]

describe.each(SERVERS)('"a complete example that runs in CI", on $name', ({ name, missing, start }) => {
  const programs = programsMarked(`run on ${name}`)

  it('there is one', () => {
    expect(programs).not.toEqual([])
  })

  it.runIf(missing === undefined).each(programs)(
    `$page, line $line${missing === undefined ? '' : ` (skipped: ${missing})`}`,
    async ({ text }) => {
      const running = await start()
      try {
        await expect(runProgram(text, running.env)).resolves.toMatchObject({ stderr: '' })
      } finally {
        await running.close()
      }
    },
    120_000,
  )
})
