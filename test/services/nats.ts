import { delay, systemClock } from '../../src/ports/clock.ts'
import { missing } from './debian.ts'
import { findNatsServer, type NatsRelease } from './nats-install.ts'
import {
  canPlaceStreams,
  hasJetStream,
  loadNatsClient,
  type NatsConfig,
  NatsNode,
  POLL_MS,
} from './nats-node.ts'

const PLACE_MS = 300_000

export interface NatsStart {
  /** How many servers; one unless said otherwise. */
  readonly nodes?: number
  /** Lines for the end of the configuration file. */
  readonly config?: NatsConfig
  /** Lines for the section `jetstream` of that file, such as `sync_interval: always`. */
  readonly jetstream?: NatsConfig
}

/** A server or cluster for tests. One that was given from outside cannot be stopped, so tests of stopping ask `nodes`. */
export interface NatsService {
  /** The addresses, with commas between them. */
  readonly url: string
  readonly nodes: readonly NatsNode[]
  close(): Promise<void>
}

export type Nats =
  | { readonly found: true; start(wanted?: NatsStart): Promise<NatsService>; readonly isPrivate: boolean }
  | { readonly found: false; readonly why: string }

/**
 * NATS for tests: the one LAZARET_TEST_NATS_URL names, else the newest release, which Go builds once into a cache, or
 * Debian's as the oldest. It is started on free ports with folders of its own. Without it the tests that need it are
 * skipped with the reason, except in CI, where that is a failure.
 */
export async function findNats(release: NatsRelease = 'newest'): Promise<Nats> {
  const given = process.env['LAZARET_TEST_NATS_URL']
  if (given !== undefined && given !== '')
    return { found: true, isPrivate: false, start: () => useGiven(given) }
  try {
    await loadNatsClient()
  } catch {
    return missing('@nats-io/transport-node', 'it is not installed; run npm ci')
  }
  const found = await findNatsServer(release)
  return found.found
    ? { found: true, isPrivate: true, start: wanted => startOwn(found.binary, wanted) }
    : found
}

async function useGiven(url: string): Promise<NatsService> {
  if (!(await hasJetStream(url))) throw new Error('LAZARET_TEST_NATS_URL: the server has no JetStream')
  return { url, nodes: [], close: async () => {} }
}

async function startOwn(binary: string, wanted: NatsStart = {}): Promise<NatsService> {
  const nodes = await NatsNode.createCluster(binary, wanted.nodes ?? 1, wanted.config, wanted.jetstream)
  const close = async () => {
    await Promise.all(nodes.map(node => node.remove()))
  }
  const url = nodes.map(node => node.url).join(',')
  try {
    await Promise.all(nodes.map(node => node.start()))
    if (nodes.length > 1) await waitForPlacement(url, nodes.length)
  } catch (error) {
    await close()
    throw error
  }
  return { url, nodes, close }
}

/** Resolves when the cluster can have a stream on so many servers. */
async function waitForPlacement(url: string, replicas: number): Promise<void> {
  const giveUpAt = systemClock.now() + PLACE_MS
  while (!(await canPlaceStreams(url, replicas).catch(() => false))) {
    if (systemClock.now() > giveUpAt)
      throw new Error(`the NATS cluster did not place a stream on ${replicas} servers within ${PLACE_MS} ms`)
    await delay(systemClock, POLL_MS)
  }
}
