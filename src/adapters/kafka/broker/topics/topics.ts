import type { NewTopic } from '../../connection/client.ts'
import type { Cluster, TopicInfo } from '../../connection/cluster.ts'
import { CODE, explain, hasCode, isRefusal } from '../../connection/protocol-errors.ts'
import { PartitionsDifferError, TopicMissingError } from '../../errors.ts'
import type { KafkaSettings } from '../../options.ts'
import { channelTopic, type HandlerTopics, handlerTopics } from './names.ts'

const BROKER_DEFAULT = -1
const CREATE_TIMEOUT_MS = 10_000
const FOUR_WEEKS_MS = 2_419_200_000
/** A message can be as large as its topic allows, and ours add the attempts to it. */
const MAX_MESSAGE_BYTES = 10_485_760

type TopicKind = 'channel' | 'retry' | 'letters' | 'held'

/** Without these, the defaults of the cluster would remove messages by size, or all but the latest of a key. */
const KEEP_ALL = {
  'cleanup.policy': 'delete',
  'retention.bytes': '-1',
  'max.message.bytes': String(MAX_MESSAGE_BYTES),
}

/** A dead letter is kept until it is removed, and a retry for as long as a person could need to find out about it. */
const CONFIGS: Readonly<Record<TopicKind, Readonly<Record<string, string>>>> = {
  channel: {},
  retry: { ...KEEP_ALL, 'retention.ms': String(FOUR_WEEKS_MS) },
  letters: { ...KEEP_ALL, 'retention.ms': '-1' },
  held: { 'cleanup.policy': 'compact', 'max.message.bytes': String(MAX_MESSAGE_BYTES) },
}

/** Creates topics, and creates those again that a person deleted. */
export class Topics {
  readonly #cluster: Cluster
  readonly #settings: KafkaSettings
  /** How to create a topic that is missing, by its name. */
  readonly #known = new Map<string, () => Promise<boolean>>()

  constructor(cluster: Cluster, settings: KafkaSettings) {
    this.#cluster = cluster
    this.#settings = settings
  }

  of(channel: string, handler: string): HandlerTopics {
    return handlerTopics(this.#settings, channel, handler)
  }

  /** The topic of a channel. It is created with the first event, if creating it is ours to do. */
  channel(channel: string): string {
    const topic = channelTopic(this.#settings, channel)
    if (!this.#known.has(topic)) this.#known.set(topic, () => this.#createChannel(topic))
    return topic
  }

  /** The topic for what comes again. A replay can be published before its handler has ever subscribed. */
  again(channel: string, handler: string): string {
    const topics = this.of(channel, handler)
    this.channel(channel)
    this.#know(topics)
    return topics.again
  }

  /** Creates a topic that was found missing. False if that is not ours to do. */
  readonly restore = async (topic: string): Promise<boolean> => (await this.#known.get(topic)?.()) ?? false

  /**
   * Creates what a handler needs, and checks that all its topics have the partitions of its channel. Answers whether the
   * handler has subscribed before: the dead-letter topic is created last.
   */
  async declare(channel: string, handler: string, isOrdered: boolean): Promise<DeclaredTopics> {
    const topics = this.of(channel, handler)
    this.channel(channel)
    this.#know(topics)
    const names = [topics.channel, topics.again, ...topics.retries.map(({ name }) => name), topics.letters]
    if (isOrdered) names.push(topics.held)
    return await this.#cluster.retrying(`the topics of '${topics.group}'`, async () => {
      const found = await this.#cluster.topics(names)
      const missing = names.filter(name => !found.has(name) && name !== topics.letters)
      for (const name of missing) if (!(await this.restore(name))) throw new TopicMissingError(name)
      const all = missing.length === 0 ? found : await this.#cluster.topics(names)
      const info = all.get(topics.channel)
      if (info === undefined || missing.some(name => !all.has(name)))
        throw new Error('topics are being created')
      for (const other of all.values()) checkPartitions(other, info)
      return { topics, info, isNew: !all.has(topics.letters) }
    })
  }

  /** Creates the dead-letter topic, if it is missing. */
  async declareLetters({ letters }: HandlerTopics): Promise<void> {
    await this.#cluster.retrying(`topic '${letters}'`, async () => {
      if ((await this.#cluster.topic(letters)) !== undefined) return
      if (!(await this.restore(letters))) throw new TopicMissingError(letters)
      throw new Error('it is being created')
    })
  }

  #know(topics: HandlerTopics): void {
    if (this.#known.has(topics.letters)) return
    const own = (name: string, kind: TopicKind) =>
      this.#known.set(name, () => this.#createOwn(topics.channel, name, kind))
    own(topics.again, 'retry')
    for (const { name } of topics.retries) own(name, 'retry')
    own(topics.letters, 'letters')
    own(topics.held, 'held')
  }

  async #createChannel(topic: string): Promise<boolean> {
    if (this.#settings.declare !== 'all') return false
    await this.#create(topic, this.#settings.partitions ?? BROKER_DEFAULT, 'channel')
    return true
  }

  async #createOwn(channel: string, topic: string, kind: TopicKind): Promise<boolean> {
    if (this.#settings.declare === 'none') return false
    const info = await this.#cluster.topic(channel)
    if (info === undefined) {
      if (!(await this.restore(channel))) throw new TopicMissingError(channel)
      throw new Error(`topic '${channel}' is being created`)
    }
    await this.#create(topic, info.leaders.length, kind)
    return true
  }

  async #create(name: string, numPartitions: number, kind: TopicKind): Promise<void> {
    const configs = Object.entries(CONFIGS[kind]).map(([config, value]) => ({ name: config, value }))
    const replicationFactor = this.#settings.replicationFactor ?? BROKER_DEFAULT
    const topic: NewTopic = { name, numPartitions, replicationFactor, assignments: [], configs }
    const { createTopicsV7 } = await this.#cluster.client()
    try {
      await createTopicsV7.api.async(await this.#cluster.any('control'), [topic], CREATE_TIMEOUT_MS, false)
    } catch (error) {
      // Another process was faster.
      if (hasCode(error, CODE.topicExists)) return
      throw isRefusal(error) ? explain(this.#cluster.servers, `topic '${name}'`, error) : error
    }
  }
}

/** The topics of a handler, as they are on the cluster. */
interface DeclaredTopics {
  readonly topics: HandlerTopics
  readonly info: TopicInfo
  /** The handler has never subscribed before. */
  readonly isNew: boolean
}

function checkPartitions({ name, leaders }: TopicInfo, channel: TopicInfo): void {
  if (leaders.length !== channel.leaders.length)
    throw new PartitionsDifferError(name, leaders.length, channel.name, channel.leaders.length)
}
