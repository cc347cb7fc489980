import { Admin, ProduceAcks, Producer } from '@platformatic/kafka'
import { allPartitions, readOffsets, readProgress } from '../../src/adapters/kafka/broker/group/offsets.ts'
import type { Progress } from '../../src/adapters/kafka/broker/group/progress.ts'
import { Cluster } from '../../src/adapters/kafka/connection/cluster.ts'
import { readFrom } from '../../src/adapters/kafka/connection/read-partition.ts'
import type { KafkaRecord, RecordHeaders } from '../../src/adapters/kafka/connection/records.ts'
import { readLetter } from '../../src/adapters/kafka/letters/own-letter.ts'
import { resolveKafka } from '../../src/adapters/kafka/options.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { mergeLetter } from '../../src/core/dead-letter/merge.ts'

/** A record of another program. A name can occur twice, and a value can be null. */
export interface OutsideRecord {
  readonly topic: string
  readonly partition?: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

const MANY_RETRIES = { retries: 20, retryDelay: 100 }

/** Another program on a cluster: it creates topics, writes records with the plain client, and reads what is in a topic. */
export class OutsideKafka {
  readonly admin: Admin
  readonly #producer: Producer
  readonly #cluster: Cluster

  constructor(brokers: readonly string[]) {
    const options = { clientId: 'outside', bootstrapBrokers: [...brokers], ...MANY_RETRIES }
    this.admin = new Admin(options)
    this.#producer = new Producer({ ...options, acks: ProduceAcks.ALL })
    this.#cluster = new Cluster(resolveKafka({ brokers }))
  }

  async createTopic(
    name: string,
    partitions = 3,
    configs: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    await this.admin.createTopics({
      topics: [name],
      partitions,
      replicas: 1,
      configs: Object.entries(configs).map(([config, value]) => ({ name: config, value })),
    })
  }

  /** Deletes a topic, and creates it again unless another program does it first. */
  async recreateTopic(name: string, partitions: number): Promise<void> {
    const idOf = async () => (await this.#cluster.topics([name])).get(name)?.id
    const before = await idOf()
    await this.admin.deleteTopics({ topics: [name] })
    for (let id = await idOf(); id === undefined || id === before; id = await idOf())
      await this.createTopic(name, partitions).catch(() => {})
  }

  /** Adds partitions to a topic on the only broker, until it has so many. */
  async addPartitions(name: string, count: number): Promise<void> {
    const { brokers, topics } = await this.admin.metadata({ topics: [name] })
    const [id] = brokers.keys()
    const added = count - topics.get(name)!.partitionsCount
    const assignments = Array.from({ length: added }, () => ({ brokerIds: [id!] }))
    await this.admin.createPartitions({ topics: [{ name, count, assignments }] })
  }

  async topicId(name: string): Promise<string> {
    return (await this.#cluster.topics([name])).get(name)!.id
  }

  async write(records: readonly OutsideRecord[]): Promise<void> {
    const messages = records.map(({ headers, ...record }) => ({
      ...record,
      // The client passes null on, although its types do not say so.
      headers: new Map(headers.map(([name, value]) => [Buffer.from(name), value])) as Map<Buffer, Buffer>,
    }))
    await this.#producer.send({ messages: messages as Parameters<Producer['send']>[0]['messages'] })
  }

  /** Writes bytes that say they are JSON. */
  async writeJson(topic: string, value: Buffer): Promise<void> {
    const headers = [[Buffer.from('content-type'), Buffer.from('application/json')]] as const
    await this.write([{ topic, key: null, value, headers }])
  }

  /** What a group has committed of each partition of a topic. */
  async progress(group: string, topic: string): Promise<ReadonlyMap<number, Progress>> {
    const info = (await this.#cluster.topics([topic])).get(topic)
    if (info === undefined) return new Map()
    return (await readProgress(this.#cluster, group, [allPartitions(info)])).get(topic) ?? new Map()
  }

  /** All records of a topic, partition by partition. */
  async records(topic: string): Promise<readonly KafkaRecord[]> {
    const info = (await this.#cluster.topics([topic])).get(topic)
    if (info === undefined) return []
    const ends = await readOffsets(this.#cluster, info, 'latest')
    const starts = await readOffsets(this.#cluster, info, 'earliest')
    const all: KafkaRecord[] = []
    for (const [partition, end] of ends.entries())
      for (let from = starts[partition]!; from < end; ) {
        const { records, nextOffset } = await readFrom(this.#cluster, info, partition, from)
        all.push(...records)
        from = nextOffset
      }
    return all
  }

  /** The letters of a dead-letter topic, with the cycles of one letter together. */
  async letters(topic: string): Promise<readonly DeadLetter[]> {
    const letters = new Map<string, DeadLetter>()
    for (const record of await this.records(topic)) {
      const letter = readLetter(record)
      if (letter !== undefined) letters.set(letter.id, mergeLetter(letters.get(letter.id), letter))
    }
    return [...letters.values()]
  }

  async close(): Promise<void> {
    await Promise.all([this.admin.close(), this.#producer.close(), this.#cluster.close()])
  }
}
