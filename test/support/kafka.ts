import { readOffsets } from '../../src/adapters/kafka/broker/group/offsets.ts'
import { decode, type EventRecord } from '../../src/adapters/kafka/broker/wire/event-codec.ts'
import { header, headerText, OWN } from '../../src/adapters/kafka/broker/wire/headers.ts'
import { Cluster } from '../../src/adapters/kafka/connection/cluster.ts'
import { Producer } from '../../src/adapters/kafka/connection/producer.ts'
import { readFrom } from '../../src/adapters/kafka/connection/read-partition.ts'
import type { KafkaRecord } from '../../src/adapters/kafka/connection/records.ts'
import { resolveKafka } from '../../src/adapters/kafka/options.ts'
import { letterFromJson } from '../../src/core/dead-letter/json.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { mergeLetter } from '../../src/core/dead-letter/merge.ts'
import { encodeBase64 } from '../../src/core/event/base64.ts'
import { eventToJson } from '../../src/core/event/json.ts'

/** Reads and writes topics without the broker under test. */
export class KafkaOutside {
  readonly cluster: Cluster
  readonly producer: Producer

  constructor(brokers: readonly string[]) {
    const settings = resolveKafka({ brokers })
    this.cluster = new Cluster(settings)
    this.producer = new Producer(this.cluster, settings, async () => false)
  }

  /** Sends bytes that say they are JSON. */
  async publishJson(topic: string, value: Buffer): Promise<void> {
    await this.producer.send([
      { topic, key: null, value, headers: [header('content-type', 'application/json')] },
    ])
  }

  /** All records of a topic, partition by partition. */
  async records(topic: string): Promise<readonly KafkaRecord[]> {
    const info = (await this.cluster.topics([topic])).get(topic)
    if (info === undefined) return []
    const ends = await readOffsets(this.cluster, info, 'latest')
    const starts = await readOffsets(this.cluster, info, 'earliest')
    const all: KafkaRecord[] = []
    for (const [partition, end] of ends.entries())
      for (let from = starts[partition]!; from < end; ) {
        const { records, nextOffset } = await readFrom(this.cluster, info, partition, from)
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
    this.producer.close()
    await this.cluster.close()
  }
}

/** Reads a letter of Lazaret from a dead-letter topic; undefined for a message of another program. */
function readLetter(record: EventRecord): DeadLetter | undefined {
  const text = headerText(record.headers, OWN.letter)
  if (text === undefined) return undefined
  const { standIn, ...rest } = JSON.parse(text)
  const content = decode(record, rest.channel, rest.origin)
  const event =
    'raw' in content ? { ...standIn, payloadBase64: encodeBase64(content.raw) } : eventToJson(content)
  return letterFromJson({ ...rest, event })
}
