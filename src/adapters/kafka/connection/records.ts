import { ByteReader } from './byte-reader.ts'
import type { AbortedTransaction, FetchAnswerPartition, KafkaClient } from './client.ts'

/** Header names and values are bytes. A name can occur several times, and a value can be null. */
export type RecordHeaders = readonly (readonly [name: Buffer, value: Buffer | null])[]

/** The names and values of headers in their order. A value that is null is an empty text. */
export interface TextHeaders {
  readonly names: readonly string[]
  readonly values: readonly string[]
}

/** A record of a topic. */
export interface KafkaRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  /** Epoch milliseconds. */
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
  /** The headers as texts. They are cheaper to read than `headers`, and are not kept. */
  headerTexts?(): TextHeaders
  /** About how much memory the record takes. */
  readonly bytes: number
}

/** What an answer has for one partition. */
export interface FetchedRecords {
  readonly records: readonly KafkaRecord[]
  /** Where the next fetch continues. */
  readonly nextOffset: number
}

const COMPRESSION = 0b111
const HAS_BROKER_TIME = 1 << 3
const IS_TRANSACTIONAL = 1 << 4
const IS_CONTROL = 1 << 5
const ABORT_MARKER = 0
/** The first offset and the length, which the length does not count. */
const BATCH_HEAD = 12
const CURRENT_FORMAT = 2
const RECORD_OVERHEAD = 100
const MAX_TEXTS = 64
/** Longer texts are those of one record, such as its attempts. A record that waits would keep them in memory. */
const MAX_REPEATED_LENGTH = 256
const EMPTY = Buffer.alloc(0)

/**
 * The records of an answer from this offset on. An answer can begin with earlier ones, because batches are sent whole, and
 * can end with a part of a batch. It leaves out control records and the records of aborted transactions.
 */
export function readBatches(
  client: Pick<KafkaClient, 'compressionsAlgorithmsByBitmask'>,
  topic: string,
  partition: number,
  from: number,
  {
    records: bytes = EMPTY,
    abortedTransactions,
  }: Pick<FetchAnswerPartition, 'records' | 'abortedTransactions'>,
): FetchedRecords {
  const records: KafkaRecord[] = []
  const transactions = new AbortedTransactions(abortedTransactions)
  let nextOffset = from
  for (let at = 0; at + BATCH_HEAD <= bytes.length; ) {
    const end = at + BATCH_HEAD + bytes.readInt32BE(at + BATCH_HEAD - 4)
    if (end > bytes.length) break
    const batch = readBatch(bytes.subarray(at, end), topic)
    at = end
    nextOffset = Math.max(nextOffset, batch.lastOffset + 1)
    transactions.reach(batch.lastOffset)
    const isControl = (batch.attributes & IS_CONTROL) !== 0
    if (isControl && batch.count > 0)
      transactions.end(batch, readRecord(batch.reader, batch, topic, partition, NO_TEXTS).key)
    if (isControl || !transactions.isVisible(batch)) continue
    const compression = batch.attributes & COMPRESSION
    const reader =
      compression === 0 ? batch.reader : new ByteReader(unpacked(client, compression, batch.reader))
    const texts = new BatchHeaders(reader.bytes)
    for (let left = batch.count; left > 0; left--) {
      const record = readRecord(reader, batch, topic, partition, texts)
      if (record.offset >= from) records.push(record)
    }
  }
  return { records, nextOffset }
}

interface Batch {
  readonly firstOffset: number
  readonly lastOffset: number
  readonly attributes: number
  readonly firstTimestamp: number
  /** The time at which the broker stored it, if that is the time of its records. */
  readonly brokerTime: number | undefined
  readonly producerId: bigint
  readonly count: number
  /** At its first record. */
  readonly reader: ByteReader
}

function readBatch(bytes: Buffer, topic: string): Batch {
  const format = bytes.readInt8(16)
  if (format !== CURRENT_FORMAT)
    throw new Error(`topic '${topic}' has records in format ${format}, which Kafka 4 does not support`)
  const firstOffset = Number(bytes.readBigInt64BE(0))
  const attributes = bytes.readInt16BE(21)
  return {
    firstOffset,
    lastOffset: firstOffset + bytes.readInt32BE(23),
    attributes,
    firstTimestamp: Number(bytes.readBigInt64BE(27)),
    brokerTime: (attributes & HAS_BROKER_TIME) === 0 ? undefined : Number(bytes.readBigInt64BE(35)),
    producerId: bytes.readBigInt64BE(43),
    count: bytes.readInt32BE(57),
    reader: new ByteReader(bytes, 61),
  }
}

function unpacked(
  { compressionsAlgorithmsByBitmask: known }: Pick<KafkaClient, 'compressionsAlgorithmsByBitmask'>,
  compression: number,
  { bytes, at }: ByteReader,
): Buffer {
  const algorithm = known[compression]
  if (algorithm === undefined) throw new Error(`the client cannot unpack compression ${compression}`)
  return algorithm.decompressSync(bytes.subarray(at))
}

function readRecord(
  reader: ByteReader,
  batch: Batch,
  topic: string,
  partition: number,
  texts: BatchHeaders,
): BatchRecord {
  const length = reader.varint()
  const end = reader.at + length
  // Attributes, which are not used.
  reader.at++
  const timestamp = batch.firstTimestamp + reader.varint()
  const record = new BatchRecord(
    topic,
    partition,
    batch.firstOffset + reader.varint(),
    batch.brokerTime ?? timestamp,
    reader.varintBytes(),
    reader.varintBytes(),
    length + RECORD_OVERHEAD,
    texts,
    reader.at,
  )
  reader.at = end
  return record
}

/** A record whose headers are read when someone looks at them. */
class BatchRecord implements KafkaRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly bytes: number
  readonly #texts: BatchHeaders
  readonly #headersAt: number
  #headers: RecordHeaders | undefined

  constructor(
    topic: string,
    partition: number,
    offset: number,
    timestamp: number,
    key: Buffer | null,
    value: Buffer | null,
    bytes: number,
    texts: BatchHeaders,
    headersAt: number,
  ) {
    this.topic = topic
    this.partition = partition
    this.offset = offset
    this.timestamp = timestamp
    this.key = key
    this.value = value
    this.bytes = bytes
    this.#texts = texts
    this.#headersAt = headersAt
  }

  get headers(): RecordHeaders {
    this.#headers ??= readHeaders(new ByteReader(this.#texts.bytes, this.#headersAt))
    return this.#headers
  }

  headerTexts(): TextHeaders {
    return this.#texts.read(this.#headersAt)
  }
}

interface RepeatedText {
  readonly from: number
  readonly length: number
  readonly text: string
}

/** The headers of a batch as texts. Those of its records are mostly alike, so that a text is compared with the one before. */
class BatchHeaders {
  readonly bytes: Buffer
  /** By the position in the record. */
  readonly #texts: RepeatedText[] = []
  /** The names of the record before. */
  #names: string[] = []

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  read(at: number): TextHeaders {
    const reader = new ByteReader(this.bytes, at)
    const count = reader.varint()
    const values: string[] = []
    let names = this.#names.length === count ? this.#names : []
    for (let index = 0; index < count; index++) {
      const name = this.#next(reader, 2 * index)
      if (names === this.#names && names[index] !== name) names = names.slice(0, index)
      if (names !== this.#names) names.push(name)
      values.push(this.#next(reader, 2 * index + 1))
    }
    this.#names = names
    return { names, values }
  }

  #next(reader: ByteReader, position: number): string {
    const length = reader.varint()
    if (length <= 0) return ''
    const from = reader.at
    reader.at += length
    const last = this.#texts[position]
    if (last?.length === length && this.#isSame(last.from, from, length)) return last.text
    const text = this.bytes.toString('utf8', from, reader.at)
    if (position < MAX_TEXTS && length <= MAX_REPEATED_LENGTH) this.#texts[position] = { from, length, text }
    return text
  }

  #isSame(one: number, other: number, length: number): boolean {
    const { bytes } = this
    for (let at = length - 1; at >= 0; at--) if (bytes[one + at] !== bytes[other + at]) return false
    return true
  }
}

const NO_TEXTS = new BatchHeaders(EMPTY)

function readHeaders(reader: ByteReader): RecordHeaders {
  const headers: (readonly [Buffer, Buffer | null])[] = []
  for (let left = reader.varint(); left > 0; left--)
    headers.push([reader.varintBytes() ?? EMPTY, reader.varintBytes()])
  return headers
}

export function sizeOf(key: Buffer | null, value: Buffer | null, headers: RecordHeaders): number {
  let bytes = RECORD_OVERHEAD + (key?.length ?? 0) + (value?.length ?? 0)
  for (const [name, each] of headers) bytes += name.length + (each?.length ?? 0) + 8
  return bytes
}

/** Tells the records of aborted transactions from others, batch by batch in the order of their offsets. */
class AbortedTransactions {
  readonly #starts: AbortedTransaction[]
  readonly #open = new Set<bigint>()

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#starts = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset)
  }

  /** The batches up to this offset follow. */
  reach(lastOffset: number): void {
    while (this.#starts.length > 0 && this.#starts[0]!.firstOffset <= lastOffset)
      this.#open.add(this.#starts.shift()!.producerId)
  }

  /** The key of a control record has a version and a type, of two bytes each. */
  end({ producerId }: Batch, key: Buffer | null): void {
    if (key?.readInt16BE(2) === ABORT_MARKER) this.#open.delete(producerId)
  }

  isVisible({ attributes, producerId }: Batch): boolean {
    return (attributes & IS_TRANSACTIONAL) === 0 || !this.#open.has(producerId)
  }
}
