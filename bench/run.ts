import { table } from './harness/print.ts'
import type { BenchResult } from './harness/result.ts'

const benches: Record<string, { about: string; load: () => Promise<{ run: () => Promise<BenchResult> }> }> = {
  policy: {
    about:
      'cost of a successful and of a failing call under resilient(), compared with cockatiel and opossum',
    load: () => import('./policy.ts'),
  },
  runtime: {
    about: 'cost of consuming a message and of tracking an event, on the memory adapters',
    load: () => import('./runtime.ts'),
  },
  dispatch: {
    about:
      'tracking to receivers in another process, one of them dead, compared with pino-loki and OpenTelemetry',
    load: () => import('./dispatch.ts'),
  },
  rabbitmq: {
    about:
      'consuming, publishing and failing on RabbitMQ, compared with raw amqplib, rabbitmq-client and rascal',
    load: () => import('./rabbitmq.ts'),
  },
  outbox: {
    about:
      'enqueueing, processing and failing in Postgres, compared with a raw loop, pg-boss and graphile-worker',
    load: () => import('./outbox.ts'),
  },
  redis: {
    about: 'publishing, processing and failing on Redis, compared with raw commands and BullMQ',
    load: () => import('./redis.ts'),
  },
  kafka: {
    about: 'consuming, publishing and failing on Kafka, compared with the raw client, kafkajs and confluent',
    load: () => import('./kafka.ts'),
  },
  'kafka-lag': {
    about:
      'a consumer of Kafka that is killed with a million events of lag: how soon it goes on, and its memory',
    load: () => import('./kafka-lag.ts'),
  },
  nats: {
    about: 'consuming, publishing and failing on NATS JetStream, compared with the raw client',
    load: () => import('./nats.ts'),
  },
  startup: {
    about: 'how long the command and the imports of the built package take to start',
    load: () => import('./startup.ts'),
  },
  growth: {
    about:
      'the outbox over two million rows of the past, and what an hour of work leaves behind in its tables',
    load: () => import('./growth.ts'),
  },
  soak: {
    about: 'dead rows and table sizes of the outbox after an hour of work, run in five minutes',
    load: () => import('./soak.ts'),
  },
  stores: {
    about:
      'durable dead-letter writes on file, SQLite, Postgres and Redis, and a million letters on file and SQLite',
    load: () => import('./stores.ts'),
  },
  letters: {
    about: 'pages and counts of a million letters on SQLite, Postgres and Redis, for every filter and order',
    load: () => import('./letters.ts'),
  },
  plan: {
    about:
      'planning a replay of 200 000 letters on SQLite and Postgres, and the memory of the server meanwhile',
    load: () => import('./plan.ts'),
  },
  purge: {
    about: 'purging letters on memory, file, SQLite, Postgres and Redis, and the longest batch of it',
    load: () => import('./purge.ts'),
  },
  fleet: {
    about:
      'the cost of presence for a consumer, and of 1 000 processes for Postgres, the server and the console',
    load: () => import('./fleet.ts'),
  },
  agents: {
    about: 'the tools for agents that read, with a million letters on SQLite',
    load: () => import('./agents.ts'),
  },
  console: {
    about: 'load time of each console screen with a million letters, without a browser cache',
    load: () => import('./console.ts'),
  },
}

const names = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
const json = process.argv.includes('--json')
const [name] = names
const bench = name === undefined ? undefined : benches[name]

if (name === undefined) {
  for (const [known, { about }] of Object.entries(benches))
    process.stdout.write(`${known.padEnd(10)} ${about}\n`)
} else if (bench === undefined) {
  process.stderr.write(`bench: there is no '${name}'; known are ${Object.keys(benches).join(', ')}\n`)
  process.exitCode = 2
} else {
  const { run } = await bench.load()
  const result = await run()
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : table(result))
  if (result.bars.some(bar => !bar.holds)) process.exitCode = 1
}
