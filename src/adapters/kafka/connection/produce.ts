import { ask } from './ask.ts'
import type { KafkaClient, KafkaConnection, ProduceAnswer } from './client.ts'
import type { Batch, OutgoingRecord } from './partition-queue.ts'

const PRODUCE = 0
const VERSION = 9
const BATCH_HEAD = 61
/** The checksum covers everything behind it. */
const CHECKSUM_AT = 17
const CHECKSUM_END = 21
const FORMAT = 2

/**
 * Publishes batches. They are written here: the client makes several buffers of every key, value, header and number, which
 * costs more than everything else together.
 */
export function produceBatches(
  client: KafkaClient,
  connection: KafkaConnection,
  acks: number,
  timeoutMs: number,
  batches: readonly Batch[],
): Promise<ProduceAnswer> {
  const createRequest = () => {
    const topics = [...Map.groupBy(batches, ({ queue }) => queue.topic)]
    return client.Writer.create()
      .appendString(null)
      .appendInt16(acks)
      .appendInt32(timeoutMs)
      .appendArray(topics, (topic, [name, own]) => {
        topic.appendString(name).appendArray(own, (partition, batch) => {
          const bytes = batchBytes(client, batch)
          partition
            .appendInt32(batch.queue.partition)
            .appendUnsignedVarInt(bytes.length + 1)
            .append(bytes)
        })
      })
      .appendTaggedFields()
  }
  return ask(callback =>
    connection.send(PRODUCE, VERSION, createRequest, client.produceV9.parseResponse, true, true, callback),
  )
}

/** A batch as a broker stores it. All its records have the time of the batch. */
function batchBytes({ crc32c }: Pick<KafkaClient, 'crc32c'>, batch: Batch): Buffer {
  const { records, timestamp, identity, sequence } = batch
  const sizes = records.map(({ record }, index) => recordSize(record, index))
  let length = BATCH_HEAD
  for (const size of sizes) length += varintSize(size) + size
  const writer = new ByteWriter(Buffer.allocUnsafe(length))
  const { bytes } = writer
  // The broker sets the first offset and the epoch of the leader.
  bytes.fill(0, 0, BATCH_HEAD)
  bytes.writeInt32BE(length - 12, 8)
  bytes.writeInt8(FORMAT, 16)
  bytes.writeInt32BE(records.length - 1, 23)
  bytes.writeBigInt64BE(timestamp, 27)
  bytes.writeBigInt64BE(timestamp, 35)
  bytes.writeBigInt64BE(identity.id, 43)
  bytes.writeInt16BE(identity.epoch, 51)
  bytes.writeInt32BE(sequence, 53)
  bytes.writeInt32BE(records.length, 57)
  writer.at = BATCH_HEAD
  records.forEach(({ record }, index) => {
    writer.varint(sizes[index]!)
    writeRecord(writer, record, index)
  })
  bytes.writeUInt32BE(crc32c(bytes.subarray(CHECKSUM_END)), CHECKSUM_AT)
  return bytes
}

function writeRecord(writer: ByteWriter, { key, value, headers }: OutgoingRecord, index: number): void {
  // No attributes, and no difference to the time of the batch.
  writer.bytes[writer.at++] = 0
  writer.bytes[writer.at++] = 0
  writer.varint(index)
  writer.varintBytes(key)
  writer.varintBytes(value)
  writer.varint(headers.length)
  for (const [name, text] of headers) {
    writer.varintBytes(name)
    writer.varintBytes(text)
  }
}

function recordSize({ key, value, headers }: OutgoingRecord, index: number): number {
  let size = 2 + varintSize(index) + bytesSize(key) + bytesSize(value) + varintSize(headers.length)
  for (const [name, text] of headers) size += bytesSize(name) + bytesSize(text)
  return size
}

function bytesSize(bytes: Buffer | null): number {
  return bytes === null ? 1 : varintSize(bytes.length) + bytes.length
}

/** Numbers are written doubled, with the sign in the last bit. Each byte has seven bits of them. */
function varintSize(value: number): number {
  let size = 1
  for (let left = value * 2; left > 0x7f; left = Math.floor(left / 0x80)) size++
  return size
}

/** Writes into bytes whose length is known. */
class ByteWriter {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  varint(value: number): void {
    const { bytes } = this
    let left = value * 2
    for (; left > 0x7f; left = Math.floor(left / 0x80)) bytes[this.at++] = (left % 0x80) + 0x80
    bytes[this.at++] = left
  }

  /** The length of no bytes is -1, which is written as 1. */
  varintBytes(content: Buffer | null): void {
    if (content === null) {
      this.bytes[this.at++] = 1
      return
    }
    this.varint(content.length)
    this.at += content.copy(this.bytes, this.at)
  }
}
