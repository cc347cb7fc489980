import type { AbortedTransaction, RecordBatch } from './client.ts'

/** Header names and values are bytes. A name can occur several times, and a value can be null. */
export type RecordHeaders = readonly (readonly [name: Buffer, value: Buffer | null])[]

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
  /** About how much memory the record takes. */
  readonly bytes: number
}

/** What an answer has for one partition. */
export interface FetchedRecords {
  readonly records: readonly KafkaRecord[]
  /** Where the next fetch continues. */
  readonly nextOffset: number
}

const IS_CONTROL = 1 << 5
const IS_TRANSACTIONAL = 1 << 4
const ABORT_MARKER = 0
const RECORD_OVERHEAD = 100
const NO_HEADERS: RecordHeaders = []
const EMPTY = Buffer.alloc(0)

/**
 * The records of an answer from this offset on. An answer can begin with earlier ones, because batches are sent whole. It
 * leaves out control records and the records of aborted transactions.
 */
export function readBatches(
  topic: string,
  partition: number,
  from: number,
  batches: readonly RecordBatch[],
  aborted: readonly AbortedTransaction[],
): FetchedRecords {
  const records: KafkaRecord[] = []
  const transactions = new AbortedTransactions(aborted)
  let nextOffset = from
  for (const batch of batches) {
    const first = Number(batch.firstOffset)
    nextOffset = Math.max(nextOffset, first + batch.lastOffsetDelta + 1)
    if (!transactions.isVisible(batch)) continue
    const firstTimestamp = Number(batch.firstTimestamp)
    for (const { offsetDelta, timestampDelta, key, value, headers } of batch.records) {
      const offset = first + offsetDelta
      if (offset < from) continue
      const own =
        headers.length === 0 ? NO_HEADERS : headers.map(([name, each]) => [name ?? EMPTY, each] as const)
      const timestamp = firstTimestamp + Number(timestampDelta)
      records.push({
        topic,
        partition,
        offset,
        timestamp,
        key,
        value,
        headers: own,
        bytes: sizeOf(key, value, own),
      })
    }
  }
  return { records, nextOffset }
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
    this.#starts = aborted.toSorted((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  }

  isVisible(batch: RecordBatch): boolean {
    const last = batch.firstOffset + BigInt(batch.lastOffsetDelta)
    while (this.#starts.length > 0 && this.#starts[0]!.firstOffset <= last)
      this.#open.add(this.#starts.shift()!.producerId)
    if ((batch.attributes & IS_CONTROL) !== 0) {
      // The key of a control record has a version and a type, of two bytes each.
      if (batch.records[0]?.key?.readInt16BE(2) === ABORT_MARKER) this.#open.delete(batch.producerId)
      return false
    }
    return (batch.attributes & IS_TRANSACTIONAL) === 0 || !this.#open.has(batch.producerId)
  }
}
