import { Admin, Producer, type ProducerOptions } from '@platformatic/kafka'
import { BODY } from '../harness/body.ts'

export const BATCH = 1_000
const PARTITIONS = 6

type RawOptions = ProducerOptions<Buffer, Buffer, Buffer, Buffer>

/** The cluster, as the code that prepares and checks a round uses it. */
export class Topics {
  readonly brokers: string[]
  readonly #admin: Admin
  #count = 0

  constructor(brokers: string[]) {
    this.brokers = brokers
    this.#admin = new Admin(this.options())
  }

  options() {
    return { clientId: 'bench', bootstrapBrokers: this.brokers, retries: 100, retryDelay: 50 }
  }

  /** A producer whose messages are on all replicas, once each. */
  producer(options: Partial<RawOptions> = {}): Producer {
    return new Producer({ ...this.options(), idempotent: true, ...options })
  }

  newName(name: string): string {
    return `${name}-${this.#count++}`
  }

  async create(name: string, partitions = PARTITIONS): Promise<string> {
    await this.#admin.createTopics({ topics: [name], partitions, replicas: 1 })
    return name
  }

  async fill(topic: string, messages: number): Promise<void> {
    const producer = this.producer()
    for (let sent = 0; sent < messages; sent += BATCH)
      await producer.send({ messages: toRaw(topic, batchOf(sent, Math.min(BATCH, messages - sent))) })
    await producer.close()
  }

  /** The messages that were ever written to a topic. */
  async size(topic: string): Promise<number> {
    const metadata = await this.#admin.metadata({ topics: [topic], forceUpdate: true })
    const partitions = metadata.topics.get(topic)!.partitions.map((_, partitionIndex) => ({
      partitionIndex,
      timestamp: -1n,
    }))
    const [listed] = await this.#admin.listOffsets({ topics: [{ name: topic, partitions }] })
    return listed!.partitions.reduce((sum, { offset }) => sum + Number(offset), 0)
  }

  async remove(...topics: string[]): Promise<void> {
    await this.#admin.deleteTopics({ topics })
  }

  async close(): Promise<void> {
    await this.#admin.close()
  }
}

/** A message as the candidates send it. */
export interface BenchMessage {
  readonly key: Buffer
  readonly value: Buffer
  readonly headers: Readonly<Record<string, Buffer>>
}

const HEADERS = {
  ce_specversion: Buffer.from('1.0'),
  ce_type: Buffer.from('order.placed'),
  ce_source: Buffer.from('/shop'),
  ce_time: Buffer.from('2026-01-02T03:04:05.678Z'),
  'content-type': Buffer.from('application/json'),
}

/** CloudEvents with a key each, so that all partitions get some. */
export function batchOf(from: number, count: number): BenchMessage[] {
  return Array.from({ length: count }, (_, index) => ({
    key: Buffer.from(`order-${from + index}`),
    value: BODY,
    headers: {
      ...HEADERS,
      ce_id: Buffer.from(`0198f000-0000-7000-8000-${String(from + index).padStart(12, '0')}`),
    },
  }))
}

/** The same in the form of the raw client. */
export function toRaw(topic: string, messages: readonly BenchMessage[]) {
  return messages.map(({ key, value, headers }) => ({
    topic,
    key,
    value,
    headers: new Map(Object.entries(headers).map(([name, bytes]) => [Buffer.from(name), bytes])),
  }))
}
