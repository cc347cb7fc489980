import { Admin } from '@platformatic/kafka'
import { archiveClasses, withArchivedClasses } from './kafka-classes.ts'
import { findKafkaInstall, type KafkaInstall } from './kafka-install.ts'
import { type KafkaConfig, KafkaNode } from './kafka-node.ts'

export interface KafkaStart {
  /** How many brokers; one unless said otherwise. */
  readonly nodes?: number
  /** Settings of `server.properties`. */
  readonly config?: KafkaConfig
  /** Options of the Java machine, such as `FULL_SPEED`. */
  readonly jvm?: readonly string[]
}

/** A cluster for tests. One that was given from outside cannot be stopped, so tests of stopping ask `nodes`. */
export interface KafkaService {
  readonly brokers: string[]
  readonly nodes: readonly KafkaNode[]
  close(): Promise<void>
}

export type Kafka =
  | { readonly found: true; start(wanted?: KafkaStart): Promise<KafkaService>; readonly isPrivate: boolean }
  | { readonly found: false; readonly why: string }

/**
 * Apache Kafka for tests: the one LAZARET_TEST_KAFKA_URL names (`host:port,host:port`), else one from Maven Central (the
 * release that LAZARET_TEST_KAFKA_VERSION names, else the newest), kept in a cache and started on free ports with folders of its own. Without it the tests that need it are skipped with the
 * reason, except in CI, where that is a failure.
 */
export async function findKafka(): Promise<Kafka> {
  const given = process.env['LAZARET_TEST_KAFKA_URL']
  if (given !== undefined && given !== '')
    return { found: true, isPrivate: false, start: () => useGiven(given.split(',')) }
  const found = await findKafkaInstall()
  return found.found
    ? { found: true, isPrivate: true, start: wanted => startOwn(found.install, wanted) }
    : found
}

/** Does once for the machine what makes each start of a broker shorter. */
export async function prepareKafka(): Promise<void> {
  const kafka = await findKafka()
  if (!kafka.found || !kafka.isPrivate) return
  const found = await findKafkaInstall()
  if (found.found) await archiveClasses(found.install)
}

async function useGiven(brokers: string[]): Promise<KafkaService> {
  const admin = new Admin({ clientId: 'lazaret-tests', bootstrapBrokers: brokers })
  await admin.metadata({ topics: [] })
  await admin.close()
  return { brokers, nodes: [], close: async () => {} }
}

async function startOwn(install: KafkaInstall, wanted: KafkaStart = {}): Promise<KafkaService> {
  const { nodes: count = 1, config = {}, jvm = withArchivedClasses(install) } = wanted
  const nodes = await KafkaNode.createCluster(install, count, config, jvm)
  const close = async () => {
    await Promise.all(nodes.map(node => node.remove()))
  }
  try {
    await Promise.all(nodes.map(node => node.start()))
  } catch (error) {
    await close()
    throw error
  }
  return { brokers: nodes.map(({ address }) => address), nodes, close }
}
