import { type Clock, delay, equalJitter, monotonicNow } from '../../../ports/clock.ts'
import type { KafkaSettings } from '../options.ts'
import {
  type BrokerAddress,
  type KafkaClient,
  type KafkaConnection,
  type KafkaPool,
  loadKafka,
  type MetadataAnswer,
} from './client.ts'
import { answerOf, CODE, explain, isRefusal } from './protocol-errors.ts'

/** A topic as the cluster knows it. */
export interface TopicInfo {
  readonly name: string
  readonly id: string
  /** The node that leads each partition; undefined while it has no leader. */
  readonly leaders: readonly (number | undefined)[]
}

const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 2_000
const GROUP_KEY = 0
const MAX_INFLIGHT = 100

/**
 * The brokers of a cluster: connections to them, the leaders of partitions and the coordinators of groups. A connection
 * answers in the order of its requests, so each purpose has connections of its own: a fetch that waits for records holds
 * up neither a commit nor a heartbeat.
 */
export class Cluster {
  readonly #settings: KafkaSettings
  readonly #bootstrap: readonly BrokerAddress[]
  readonly #pools = new Map<string, KafkaPool>()
  readonly #nodes = new Map<number, BrokerAddress>()
  readonly #topics = new Map<string, TopicInfo>()
  readonly #coordinators = new Map<string, number>()
  /** When all known topics are asked for again, by a monotonic clock. */
  #freshUntil: number
  #refreshing: Promise<void> | undefined
  #client: Promise<KafkaClient> | undefined
  #isUp: boolean | undefined
  #isClosed = false

  constructor(settings: KafkaSettings) {
    this.#settings = settings
    this.#bootstrap = settings.brokers.map(readAddress)
    this.#freshUntil = this.#nextRefresh()
  }

  get servers(): string {
    return this.#settings.brokers.join(',')
  }

  get clock(): Clock {
    return this.#settings.clock
  }

  client(): Promise<KafkaClient> {
    this.#client ??= loadKafka(this.#settings.client)
    return this.#client
  }

  /** A connection to a certain node. */
  async node(purpose: string, id: number): Promise<KafkaConnection> {
    const address = this.#nodes.get(id)
    if (address === undefined) {
      await this.#readMetadata([])
      if (!this.#nodes.has(id)) throw new Error(`node ${id} is not in the cluster`)
    }
    return await this.#connect(purpose, this.#nodes.get(id)!)
  }

  /** A connection to any node that can be reached. */
  async any(purpose: string): Promise<KafkaConnection> {
    let failure: unknown
    for (const address of [...this.#nodes.values(), ...this.#bootstrap]) {
      try {
        return await this.#connect(purpose, address)
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  async coordinator(group: string): Promise<KafkaConnection> {
    const known = this.#coordinators.get(group)
    if (known !== undefined) return await this.node('group', known)
    const { findCoordinatorV4 } = await this.client()
    const answer = await findCoordinatorV4.api.async(await this.any('control'), GROUP_KEY, [group])
    const found = answer.coordinators[0]!
    this.#nodes.set(found.nodeId, { host: found.host, port: found.port })
    this.#coordinators.set(group, found.nodeId)
    return await this.node('group', found.nodeId)
  }

  forgetCoordinator(group: string): void {
    this.#coordinators.delete(group)
  }

  /** What is known of a topic, without asking. */
  known(topic: string): TopicInfo | undefined {
    return this.#topics.get(topic)
  }

  forgetTopic(topic: string): void {
    this.#topics.delete(topic)
  }

  /** Asks for topics. Those that do not exist are missing in the answer. */
  async topics(names: readonly string[]): Promise<ReadonlyMap<string, TopicInfo>> {
    for (const name of names) this.#topics.delete(name)
    const answer = await this.#readMetadata([...names])
    for (const info of answer.values()) this.#topics.set(info.name, info)
    return answer
  }

  async topic(name: string): Promise<TopicInfo | undefined> {
    return this.#topics.get(name) ?? (await this.topics([name])).get(name)
  }

  /**
   * Asks for the known topics again when what is known is too old; undefined if it is not. Nobody tells a producer that a topic
   * has got more partitions, and with the old number it would put a key into another partition than others do.
   */
  refreshed(): Promise<void> | undefined {
    if (monotonicNow(this.#settings.clock) < this.#freshUntil) return undefined
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#freshUntil = this.#nextRefresh()
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  /** The names of all topics. */
  async topicNames(): Promise<readonly string[]> {
    return [...(await this.#readMetadata(null)).keys()]
  }

  /**
   * Repeats work until it succeeds, the time is over, or the error is final. Each failure forgets the leaders and
   * coordinators that the work may have relied on.
   */
  async retrying<T>(
    what: string,
    work: () => Promise<T>,
    limitMs = this.#settings.connectTimeoutMs,
  ): Promise<T> {
    const { clock, random } = this.#settings
    const until = monotonicNow(clock) + limitMs
    for (let restMs = FIRST_BACKOFF_MS; ; restMs = Math.min(MAX_BACKOFF_MS, restMs * 2)) {
      try {
        return await work()
      } catch (error) {
        if (isRefusal(error) || this.#isClosed || monotonicNow(clock) + restMs > until)
          throw explain(this.servers, what, error)
        await delay(clock, equalJitter(random, restMs))
      }
    }
  }

  /** Reports to the user of the broker whether the cluster can be reached. */
  report(error?: unknown): void {
    const isUp = error === undefined
    if (this.#isUp === isUp || this.#isClosed) return
    this.#isUp = isUp
    this.#settings.onConnection(isUp ? { state: 'up' } : { state: 'down', error: error as Error })
  }

  async closePool(purpose: string): Promise<void> {
    const pool = this.#pools.get(purpose)
    this.#pools.delete(purpose)
    await pool?.close().catch(() => {})
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#pools.keys()].map(purpose => this.closePool(purpose)))
  }

  #nextRefresh(): number {
    return monotonicNow(this.#settings.clock) + this.#settings.metadataMaxAgeMs
  }

  /** If nobody answers, what is known stays: the next request to a broker shows whether it is still true. */
  async #refresh(): Promise<void> {
    const names = [...this.#topics.keys()]
    const answer = await this.#readMetadata(names).catch(() => undefined)
    if (answer === undefined) return
    for (const name of names) if (!answer.has(name)) this.#topics.delete(name)
    for (const info of answer.values()) this.#topics.set(info.name, info)
  }

  async #connect(purpose: string, address: BrokerAddress): Promise<KafkaConnection> {
    if (this.#isClosed) throw new Error('the broker is closed')
    const { ConnectionPool } = await this.client()
    let pool = this.#pools.get(purpose)
    if (pool === undefined) {
      const { clientId, connectTimeoutMs, requestTimeoutMs, tls, sasl } = this.#settings
      pool = new ConnectionPool(clientId, {
        connectTimeout: Math.min(connectTimeoutMs, 5_000),
        requestTimeout: requestTimeoutMs,
        maxInflights: MAX_INFLIGHT,
        ...(tls === undefined ? {} : { tls, tlsServerName: true }),
        ...(sasl === undefined ? {} : { sasl }),
      })
      // An emitter without a listener throws its errors. The requests of the connection fail in any case.
      pool.on('connecting', ({ connection }) => connection.on('error', () => {}))
      this.#pools.set(purpose, pool)
    }
    try {
      const connection = await pool.get(address)
      this.report()
      return connection
    } catch (error) {
      this.report(error)
      throw error
    }
  }

  async #readMetadata(names: string[] | null): Promise<Map<string, TopicInfo>> {
    const { metadataV12 } = await this.client()
    const connection = await this.any('control')
    const answer = await metadataV12.api.async(connection, names, false, false).catch(error => {
      // A topic without a leader is an error of the answer, and the others are in the answer.
      const partial = answerOf<MetadataAnswer>(error)
      if (partial === undefined) throw error
      const denied = partial.topics.filter(({ errorCode }) => errorCode === CODE.topicDenied)
      const what = denied.map(({ name }) => `topic '${name}'`).join(', ')
      if (isRefusal(error)) throw explain(this.servers, what === '' ? 'the list of topics' : what, error)
      return partial
    })
    if (answer.brokers.length > 0) this.#nodes.clear()
    for (const { nodeId, host, port } of answer.brokers) this.#nodes.set(nodeId, { host, port })
    const found = new Map<string, TopicInfo>()
    for (const { errorCode, name, topicId, partitions } of answer.topics) {
      if (name === null || partitions.length === 0 || errorCode === CODE.unknownTopic) continue
      const leaders: (number | undefined)[] = []
      for (const { partitionIndex, leaderId } of partitions)
        leaders[partitionIndex] = leaderId < 0 ? undefined : leaderId
      found.set(name, { name, id: topicId, leaders })
    }
    return found
  }
}

function readAddress(text: string): BrokerAddress {
  const colon = text.lastIndexOf(':')
  return { host: text.slice(0, colon).replaceAll(/[[\]]/g, ''), port: Number(text.slice(colon + 1)) }
}
