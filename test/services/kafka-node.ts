import type { ChildProcess } from 'node:child_process'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Admin } from '@platformatic/kafka'
import { freePorts } from './free-ports.ts'
import { KAFKA_FILES, type KafkaInstall } from './kafka-install.ts'
import { ServerNode } from './server-node.ts'
import { logIn, spawnIn } from './server-process.ts'

const POLL_MS = 50
const CLUSTER = 'lazaret'

/** Settings of `server.properties`. */
export type KafkaConfig = Readonly<Record<string, string>>

/** A test needs a broker soon and for a short time. A benchmark needs one that is compiled well. */
export const QUICK_START = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto']
export const FULL_SPEED = ['-Xms1g', '-Xmx1g', '-XX:+UseG1GC']

/** What it is started with unless a test says otherwise. Topics are created by those who need them, never by accident. */
const CONFIG: KafkaConfig = {
  'auto.create.topics.enable': 'false',
  'num.network.threads': '2',
  'num.io.threads': '4',
  'log.index.size.max.bytes': '1048576',
  'log.cleaner.dedupe.buffer.size': '4194304',
  'offsets.topic.num.partitions': '3',
  'offsets.load.buffer.size': '1048576',
  'transaction.state.log.num.partitions': '3',
  'share.coordinator.state.topic.num.partitions': '1',
  // The first member of a group gets its partitions at once, and a member that was killed is missed soon.
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '500',
  'group.consumer.min.session.timeout.ms': '500',
  'group.consumer.session.timeout.ms': '10000',
  'group.consumer.min.heartbeat.interval.ms': '100',
  'group.consumer.heartbeat.interval.ms': '500',
  // A broker that was killed may register again when its session has expired.
  'broker.heartbeat.interval.ms': '300',
  'broker.session.timeout.ms': '2000',
}

interface Place {
  readonly id: number
  readonly port: number
  readonly controllerPort: number
}

/** One private Kafka broker and controller. The first start of a cluster needs most of its nodes at once. */
export class KafkaNode extends ServerNode {
  readonly id: number
  readonly #install: KafkaInstall
  readonly #jvm: readonly string[]
  #config: KafkaConfig

  private constructor(
    install: KafkaInstall,
    jvm: readonly string[],
    { id, port }: Place,
    folder: string,
    config: KafkaConfig,
  ) {
    super(folder, port, {
      name: `Kafka ${id}`,
      pollMs: POLL_MS,
      log: logIn(folder),
      isTriedAgain: false,
      isGroup: false,
    })
    this.id = id
    this.#install = install
    this.#jvm = jvm
    this.#config = config
  }

  /** The nodes of a cluster. Three replicas of everything if there are three, of which two must have each write. */
  static async createCluster(
    install: KafkaInstall,
    count: number,
    config: KafkaConfig,
    jvm: readonly string[],
  ): Promise<KafkaNode[]> {
    const ports = await freePorts(2 * count)
    const places = Array.from({ length: count }, (_, index) => ({
      id: index + 1,
      port: ports[2 * index]!,
      controllerPort: ports[2 * index + 1]!,
    }))
    const voters = places.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(',')
    return Promise.all(
      places.map(async place => {
        const folder = await mkdtemp(join(tmpdir(), 'lazaret-kafka-'))
        await format(install, place, folder)
        const settings = {
          ...CONFIG,
          ...replicated(Math.min(count, 3)),
          ...config,
          ...placed(place, voters, folder, config['listeners']),
        }
        return new KafkaNode(install, jvm, place, folder, settings)
      }),
    )
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** Changes settings. They count from the next start. */
  configure(config: KafkaConfig): void {
    this.#config = { ...this.#config, ...config }
  }

  protected override async spawn(): Promise<ChildProcess> {
    const { folder } = this
    const properties = join(folder, 'server.properties')
    await writeFile(properties, toProperties(this.#config))
    const logging = `-Dlog4j2.configurationFile=${join(KAFKA_FILES, 'log4j2.properties')}`
    const words = [...this.#jvm, logging, '-cp', this.#install.classPath, 'kafka.Kafka', properties]
    return spawnIn(folder, 'java', words)
  }

  /** It answers, and the cluster lists it. */
  protected override async answers(): Promise<boolean> {
    const admin = new Admin({
      clientId: 'lazaret-tests',
      bootstrapBrokers: [this.address],
      retries: 0,
      connectTimeout: 1_000,
      requestTimeout: 2_000,
    })
    try {
      return (await admin.metadata({ topics: [] })).brokers.has(this.id)
    } catch {
      return false
    } finally {
      await admin.close()
    }
  }
}

/** Does what `kafka-storage format` does, without a Java process. */
async function format(install: KafkaInstall, { id }: Place, folder: string): Promise<void> {
  const data = dataIn(folder)
  await cp(install.formatted, data, { recursive: true })
  const directory = Buffer.alloc(16, id).toString('base64url')
  await writeFile(
    join(data, 'meta.properties'),
    toProperties({ version: '1', 'cluster.id': CLUSTER, 'node.id': String(id), 'directory.id': directory }),
  )
}

/** Listeners that a test wants are added to those that every node has. */
function placed(
  { id, port, controllerPort }: Place,
  voters: string,
  folder: string,
  more: string | undefined,
): KafkaConfig {
  const own = `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`
  return {
    'node.id': String(id),
    'process.roles': 'broker,controller',
    listeners: more === undefined ? own : `${own},${more}`,
    'controller.listener.names': 'CONTROLLER',
    'controller.quorum.voters': voters,
    'log.dirs': dataIn(folder),
  }
}

function replicated(count: number): KafkaConfig {
  const replicas = String(count)
  const inSync = String(count === 1 ? 1 : count - 1)
  return {
    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': inSync,
  }
}

function toProperties(settings: KafkaConfig): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

function dataIn(folder: string): string {
  return join(folder, 'data')
}
