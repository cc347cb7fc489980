import { commitStart } from '../broker/group/offsets.ts'
import { declareSession, readSessionTimeout } from '../broker/group/session.ts'
import { HeldCount } from '../broker/ordered/held-count.ts'
import { depthOf, recordsIn } from '../broker/topics/depth.ts'
import { Topics } from '../broker/topics/topics.ts'
import type { KafkaClient, KafkaConnection } from '../connection/client.ts'
import { Cluster } from '../connection/cluster.ts'
import { answerOf } from '../connection/protocol-errors.ts'
import { TopicMissingError } from '../errors.ts'
import { type KafkaOptions, type KafkaSettings, resolveKafka } from '../options.ts'
import { type FoundHandler, findHandlers } from './handlers.ts'
import {
  checkSession,
  checkTopics,
  type TopicFinding,
  type TopicPurpose,
  type TopicSettings,
} from './topic-checks.ts'

/** The events of a handler, and where they are. */
export interface HandlerStatus extends FoundHandler {
  /** Undefined if the topic of the channel does not exist. */
  readonly partitions: number | undefined
  readonly consumers: number
  /** The events of the channel that the handler has not finished. */
  readonly lag: number
  /** The events that wait for their next attempt, or for another one of their key. */
  readonly waiting: number
  /** The records of its dead-letter topic. */
  readonly deadLetters: number
}

/** One request of the protocol. */
interface AdminCall<A extends readonly unknown[], R> {
  readonly api: { async(connection: KafkaConnection, ...args: A): Promise<R> }
}

/** The calls that only people need. The module (>=2.12 <3) has them beside the others. */
interface AdminCalls {
  readonly consumerGroupDescribeV0: AdminCall<[groups: string[], hasOperations: boolean], GroupAnswer>
}

interface GroupAnswer {
  readonly groups: readonly { readonly members: readonly unknown[] }[]
}

const TOPIC_RESOURCE = 2
const CHECKED = [
  'min.insync.replicas',
  'unclean.leader.election.enable',
  'retention.ms',
  'retention.bytes',
  'cleanup.policy',
]

/** Runs work for a person who waits for the answer. */
export async function withKafkaAdmin<T>(
  options: KafkaOptions,
  work: (admin: KafkaAdmin) => Promise<T>,
): Promise<T> {
  const settings = resolveKafka(options)
  const cluster = new Cluster(settings)
  try {
    await cluster.retrying('connecting', () => cluster.any('control'))
    return await work(new KafkaAdmin(cluster, settings))
  } finally {
    await cluster.close()
  }
}

class KafkaAdmin {
  readonly #cluster: Cluster
  readonly #settings: KafkaSettings
  readonly #heldCount: HeldCount

  constructor(cluster: Cluster, settings: KafkaSettings) {
    this.#cluster = cluster
    this.#heldCount = new HeldCount(cluster)
    this.#settings = settings
  }

  /**
   * Creates every topic of a handler, and sets the handler to the end of the channel unless it has begun before. It
   * receives all events from now on, also if it subscribes for the first time later. Returns the names of all topics.
   */
  async declare(channel: string, handler: string, isOrdered = false): Promise<readonly string[]> {
    const topics = new Topics(this.#cluster, this.#settings)
    const { topics: names, info } = await topics.declare(channel, handler, isOrdered)
    if (this.#settings.from === 'latest')
      await this.#cluster.retrying(`group '${names.group}'`, () =>
        commitStart(this.#cluster, names.group, info),
      )
    await declareSession(this.#cluster, this.#settings, names.group)
    await topics.declareLetters(names)
    const held = isOrdered ? [names.held] : []
    return [names.channel, names.again, ...names.retries.map(({ name }) => name), names.letters, ...held]
  }

  /** The handlers of these channels, or of all channels. */
  async handlers(channels: readonly string[]): Promise<readonly FoundHandler[]> {
    const names = await this.#cluster.retrying('the list of topics', () => this.#cluster.topicNames())
    const all = findHandlers(names, this.#settings)
    return channels.length === 0 ? all : all.filter(({ channel }) => channels.includes(channel))
  }

  status(found: FoundHandler): Promise<HandlerStatus> {
    return this.#cluster.retrying(`the status of '${found.group}'`, () => this.#status(found))
  }

  async #status(found: FoundHandler): Promise<HandlerStatus> {
    const { names, infos } = await this.#topicsOf(found)
    const channel = infos.get(names.channel)
    return {
      ...found,
      partitions: channel?.leaders.length,
      consumers: await this.#consumers(names.group),
      ...(await depthOf(this.#cluster, this.#heldCount, names)),
      deadLetters: (await recordsIn(this.#cluster, names.letters)) ?? 0,
    }
  }

  /** Settings of the topics of a handler that can lose events or letters. */
  check(found: FoundHandler, lettersKeptMs: number): Promise<readonly TopicFinding[]> {
    return this.#cluster.retrying(`the topics of '${found.group}'`, () => this.#check(found, lettersKeptMs))
  }

  async #check(found: FoundHandler, lettersKeptMs: number): Promise<readonly TopicFinding[]> {
    const { names, infos } = await this.#topicsOf(found)
    const purposes = new Map<string, TopicPurpose>([
      [names.channel, 'channel'],
      [names.again, 'retry'],
      ...names.retries.map(({ name }) => [name, 'retry'] as const),
      [names.letters, 'letters'],
      [names.held, 'held'],
    ])
    const settings = await this.#settingsOf([...infos.keys()], purposes)
    const channel = settings.find(({ purpose }) => purpose === 'channel')
    if (channel === undefined) throw new TopicMissingError(names.channel)
    const sessionMs = await readSessionTimeout(this.#cluster, found.group)
    return [...checkTopics(settings, channel, lettersKeptMs), ...checkSession(found.group, sessionMs)]
  }

  async #topicsOf({ channel, handler }: FoundHandler) {
    const names = new Topics(this.#cluster, this.#settings).of(channel, handler)
    const all = [
      names.channel,
      names.again,
      ...names.retries.map(({ name }) => name),
      names.letters,
      names.held,
    ]
    return { names, infos: await this.#cluster.topics(all) }
  }

  async #consumers(group: string): Promise<number> {
    const { consumerGroupDescribeV0 } = await this.#calls()
    try {
      const connection = await this.#cluster.coordinator(group)
      const answer = await consumerGroupDescribeV0.api.async(connection, [group], false)
      return answer.groups[0]?.members.length ?? 0
    } catch (error) {
      // The group has had no consumer of this protocol yet.
      if (answerOf(error) !== undefined) return 0
      throw error
    }
  }

  async #settingsOf(
    names: readonly string[],
    purposes: ReadonlyMap<string, TopicPurpose>,
  ): Promise<readonly TopicSettings[]> {
    const { describeConfigsV4, metadataV12 } = await this.#calls()
    const connection = await this.#cluster.any('control')
    const metadata = await metadataV12.api.async(connection, [...names], false, false)
    const questions = names.map(resourceName => ({
      resourceType: TOPIC_RESOURCE,
      resourceName,
      configurationKeys: [...CHECKED],
    }))
    const { results } = await describeConfigsV4.api.async(connection, questions, false, false)
    return metadata.topics.flatMap(({ name, partitions }) => {
      const purpose = name === null ? undefined : purposes.get(name)
      if (name === null || purpose === undefined) return []
      const configs = results.find(({ resourceName }) => resourceName === name)?.configs ?? []
      return {
        name,
        purpose,
        partitions: partitions.length,
        replicas: Math.min(...partitions.map(({ replicaNodes }) => replicaNodes.length)),
        configs: Object.fromEntries(configs.map(({ name: config, value }) => [config, value ?? undefined])),
      }
    })
  }

  async #calls(): Promise<KafkaClient & AdminCalls> {
    return (await this.#cluster.client()) as KafkaClient & AdminCalls
  }
}
