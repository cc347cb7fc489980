import { type RecordHeaders, sizeOf } from './records.ts'

/** A record to publish. Without a partition its key decides, and without a key any partition will do. */
export interface OutgoingRecord {
  readonly topic: string
  readonly partition?: number | undefined
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

/** One call of `send`: it ends when all its records are durable, or when one of them fails. */
export interface SendCall {
  left: number
  /** The offsets of the records, by their position in the call. */
  readonly offsets: number[]
  /** False when its caller may not write any more: another process does. */
  isWanted(): boolean
  resolve(offsets: readonly number[]): void
  reject(error: Error): void
}

interface QueuedRecord {
  readonly record: OutgoingRecord
  readonly call: SendCall
  readonly index: number
  readonly bytes: number
}

/** The producer that the server knows us as. It finds duplicates by the sequence of each partition. */
export interface ProducerIdentity {
  readonly id: bigint
  readonly epoch: number
}

/** Records that are sent together. It stays the same when it is sent again, or the server could not tell a duplicate. */
export interface Batch {
  readonly queue: PartitionQueue
  readonly records: readonly QueuedRecord[]
  readonly bytes: number
  /** When to give up, by a monotonic clock. */
  readonly until: number
  readonly timestamp: bigint
  identity: ProducerIdentity
  sequence: number
}

/** A topic has a limit of 1 048 588 bytes unless it is changed, and a batch has a header. */
const MAX_BATCH_BYTES = 1_000_000
const MAX_BATCH_RECORDS = 10_000

/** The records that wait to be sent to one partition. One batch is on its way at a time, which keeps their order. */
export class PartitionQueue {
  readonly topic: string
  readonly partition: number
  #waiting: QueuedRecord[] = []
  #identity: ProducerIdentity | undefined
  #sequence = 0
  /** The batch that is being sent, or will be sent again. */
  batch: Batch | undefined
  /** Not before this time, by a monotonic clock. */
  restUntil = 0
  failures = 0
  /** Its batch is on the way. It must not be sent to another leader before the answer. */
  isSending = false

  constructor(topic: string, partition: number) {
    this.topic = topic
    this.partition = partition
  }

  get isEmpty(): boolean {
    return this.batch === undefined && this.#waiting.length === 0
  }

  add(record: OutgoingRecord, call: SendCall, index: number): void {
    const bytes = sizeOf(record.key, record.value, record.headers)
    this.#waiting.push({ record, call, index, bytes })
  }

  /** Nobody may write any more what waits here. */
  get isUnwanted(): boolean {
    const records = this.batch?.records ?? this.#waiting
    return records.length > 0 && records.every(({ call }) => !call.isWanted())
  }

  /** The batch to send next. Sequences begin at 0 with every new identity. */
  nextBatch(identity: ProducerIdentity, now: number, until: number): Batch | undefined {
    if (this.batch !== undefined || this.#waiting.length === 0) return this.batch
    if (this.#identity !== identity) {
      this.#identity = identity
      this.#sequence = 0
    }
    let count = 0
    let bytes = 0
    for (const { bytes: more } of this.#waiting) {
      if (count > 0 && (bytes + more > MAX_BATCH_BYTES || count === MAX_BATCH_RECORDS)) break
      bytes += more
      count++
    }
    const records = count === this.#waiting.length ? this.#waiting : this.#waiting.slice(0, count)
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count)
    const sequence = this.#sequence
    this.#sequence = (sequence + count) % 2 ** 31
    this.batch = { queue: this, records, bytes, until, timestamp: BigInt(now), identity, sequence }
    return this.batch
  }

  /** The server does not know our sequence. The batch begins a new one; its records may then be there twice. */
  renumber(batch: Batch, identity: ProducerIdentity): void {
    this.#identity = identity
    this.#sequence = batch.records.length
    batch.identity = identity
    batch.sequence = 0
  }

  delivered(batch: Batch, baseOffset: number): void {
    if (this.batch !== batch) return
    this.#ended()
    batch.records.forEach(({ call, index }, position) => {
      call.offsets[index] = baseOffset + position
      if (--call.left === 0) call.resolve(call.offsets)
    })
  }

  /** Whether the batch arrived is unknown, so that the sequence cannot go on. */
  failed(batch: Batch, error: Error): void {
    this.#ended()
    this.#identity = undefined
    for (const { call } of batch.records) call.reject(error)
  }

  /** Rejects everything that waits. */
  fail(error: Error): void {
    const waiting = this.#waiting
    this.#waiting = []
    if (this.batch !== undefined) this.failed(this.batch, error)
    for (const { call } of waiting) call.reject(error)
  }

  #ended(): void {
    this.batch = undefined
    this.failures = 0
    this.restUntil = 0
  }
}
