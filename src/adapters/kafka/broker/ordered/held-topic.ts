import type { Cluster, TopicInfo } from '../../connection/cluster.ts'
import type { Producer } from '../../connection/producer.ts'
import { CODE, hasCode } from '../../connection/protocol-errors.ts'
import { readFrom } from '../../connection/read-partition.ts'
import type { KafkaRecord } from '../../connection/records.ts'
import { PartitionsDifferError, TopicMissingError } from '../../errors.ts'
import { readOffsets } from '../group/offsets.ts'
import type { HandlerTopics } from '../topics/names.ts'
import type { EventRecord } from '../wire/event-codec.ts'
import type { HeldState } from './held-record.ts'
import { readStates } from './held-states.ts'

/** A held event, and where the topic has it. */
export interface HeldEvent extends HeldState {
  readonly heldKey: string
  readonly offset: number
}

/** What is known of a partition of the topic. */
interface KnownPartition {
  /** The offset up to which its states were read. */
  readTo: number
  /** The offsets of states after that, which were written here. */
  readonly written: Set<number>
}

/** A request answers with at least one batch. The smallest one is enough for one record. */
const ONE_BATCH = 1

/** The compacted topic with the events that wait for others of their key. Its partitions are those of the channel. */
export class HeldTopic {
  readonly #cluster: Cluster
  readonly #producer: Producer
  readonly #topic: string
  readonly #channel: string
  /** The id of the topic that has the states of a partition. */
  readonly #ids = new Map<number, string>()
  readonly #known = new Map<number, KnownPartition>()

  constructor(cluster: Cluster, producer: Producer, { held, channel }: HandlerTopics) {
    this.#cluster = cluster
    this.#producer = producer
    this.#topic = held
    this.#channel = channel
  }

  /** Everything that is held in a partition. */
  async read(partition: number): Promise<readonly HeldEvent[]> {
    const info = await this.#info()
    const partitions = info.leaders.length
    if (partition >= partitions) {
      // The channel has got more partitions. Nothing of this one is delivered until its events have a place to wait.
      this.#cluster.forgetTopic(this.#topic)
      const wanted = this.#cluster.known(this.#channel)?.leaders.length ?? partition + 1
      throw new PartitionsDifferError(this.#topic, partitions, this.#channel, wanted)
    }
    const held = new Map<string, HeldEvent>()
    const readTo = await readStates(this.#cluster, info, partition, 0, (heldKey, state, offset) => {
      if (state === undefined) held.delete(heldKey)
      else held.set(heldKey, { ...state, heldKey, offset })
    })
    this.#ids.set(partition, info.id)
    this.#known.set(partition, { readTo, written: new Set() })
    return [...held.values()]
  }

  /** The states in a partition that came after it was read, and that were not written here. */
  async late(partition: number, end: number): Promise<readonly HeldEvent[]> {
    const known = this.#known.get(partition)
    if (known === undefined || end <= known.readTo) return []
    const found: HeldEvent[] = []
    const info = await this.#info()
    const readTo = await readStates(
      this.#cluster,
      info,
      partition,
      known.readTo,
      (heldKey, state, offset) => {
        if (state !== undefined) found.push({ ...state, heldKey, offset })
      },
    )
    const late = found.filter(({ offset }) => !known.written.has(offset))
    for (const offset of known.written) if (offset < readTo) known.written.delete(offset)
    known.readTo = readTo
    return late
  }

  /** Where each partition of the topic ends. */
  async ends(): Promise<readonly number[]> {
    return await readOffsets(this.#cluster, await this.#info(), 'latest')
  }

  /**
   * The record of an event, which is read when its turn has come: only its state is kept in mind. Undefined if somebody has
   * deleted it, for instance with the topic.
   */
  async record(partition: number, offset: number, heldKey: string): Promise<KafkaRecord | undefined> {
    const info = await this.#info()
    let records: readonly KafkaRecord[]
    try {
      records = (await readFrom(this.#cluster, info, partition, offset, ONE_BATCH)).records
    } catch (error) {
      if (hasCode(error, CODE.offsetOutOfRange)) return undefined
      throw error
    }
    const found = records.find(record => record.offset >= offset)
    if (found === undefined) throw new Error(`topic '${this.#topic}' has no record at ${offset}`)
    return found.offset === offset && found.key?.toString('utf8') === heldKey ? found : undefined
  }

  /** Writes the states of a partition again, if the topic was deleted and created again since they were read or written. */
  async whenRecreated(partition: number, rewrite: () => Promise<void>): Promise<void> {
    const { id } = await this.#info()
    if (this.#ids.get(partition) === id) return
    await rewrite()
    this.#ids.set(partition, id)
  }

  /** Writes states while the partition is ours, and answers with their offsets when they are durable. */
  async write(
    partition: number,
    records: readonly EventRecord[],
    isOurs: () => boolean,
  ): Promise<readonly number[]> {
    const offsets = await this.#producer.send(
      records.map(record => ({ topic: this.#topic, partition, ...record })),
      isOurs,
    )
    // The server has had them for long, and does not say where.
    if (offsets.some(offset => offset < 0)) throw new Error(`topic '${this.#topic}' did not say the offsets`)
    for (const offset of offsets) this.#known.get(partition)?.written.add(offset)
    return offsets
  }

  async #info(): Promise<TopicInfo> {
    const info = await this.#cluster.topic(this.#topic)
    if (info === undefined) throw new TopicMissingError(this.#topic)
    return info
  }
}
