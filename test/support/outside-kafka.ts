import { Admin, Consumer, MessagesStreamModes, ProduceAcks, Producer } from '@platformatic/kafka'

/** A record of another program. A name can occur twice, and a value can be null. */
export interface OutsideRecord {
  readonly topic: string
  readonly partition?: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [Buffer, Buffer | null])[]
}

const MANY_RETRIES = { retries: 20, retryDelay: 100 }

/** Another program on a cluster: it creates topics, and writes and reads records with the plain client. */
export class OutsideKafka {
  readonly admin: Admin
  readonly #options: { clientId: string; bootstrapBrokers: string[]; retries: number; retryDelay: number }
  readonly #producer: Producer

  constructor(brokers: readonly string[]) {
    this.#options = { clientId: 'outside', bootstrapBrokers: [...brokers], ...MANY_RETRIES }
    this.admin = new Admin(this.#options)
    this.#producer = new Producer({ ...this.#options, acks: ProduceAcks.ALL })
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

  /** Adds a partition to a topic on the only broker. */
  async addPartition(name: string, count: number): Promise<void> {
    const { brokers } = await this.admin.metadata({ topics: [] })
    const [id] = brokers.keys()
    await this.admin.createPartitions({ topics: [{ name, count, assignments: [{ brokerIds: [id!] }] }] })
  }

  async write(records: readonly OutsideRecord[]): Promise<void> {
    const messages = records.map(({ headers, ...record }) => ({
      ...record,
      // The client passes null on, although its types do not say so.
      headers: new Map(headers.map(([name, value]) => [Buffer.from(name), value])) as Map<Buffer, Buffer>,
    }))
    await this.#producer.send({ messages: messages as Parameters<Producer['send']>[0]['messages'] })
  }

  /** Reads a topic from its beginning, as a group that nobody else uses, until it has so many records. */
  async read(topic: string, count: number): Promise<readonly OutsideRecord[]> {
    const consumer = new Consumer({ ...this.#options, groupId: `outside.${topic}` })
    const stream = await consumer.consume({
      topics: [topic],
      mode: MessagesStreamModes.EARLIEST,
      autocommit: false,
      maxWaitTime: 100,
    })
    const records: OutsideRecord[] = []
    for await (const { partition, key, value, headers } of stream) {
      // The client reads null as undefined.
      const entries = [...headers].map(([name, each]) => [name, each ?? null] as const)
      records.push({ topic, partition, key: key ?? null, value: value ?? null, headers: entries })
      if (records.length >= count) break
    }
    await consumer.close(true)
    return records
  }

  async close(): Promise<void> {
    await Promise.all([this.admin.close(), this.#producer.close()])
  }
}
