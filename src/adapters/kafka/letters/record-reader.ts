import { readOffsets } from '../broker/group/offsets.ts'
import type { FetchAnswer, KafkaClient } from '../connection/client.ts'
import type { Cluster } from '../connection/cluster.ts'
import { fetchRecords } from '../connection/fetch.ts'
import { answerOf, CODE } from '../connection/protocol-errors.ts'
import { type FetchedRecords, readBatches } from '../connection/records.ts'

/** A partition, and the offset of the next record to read. */
export interface Position {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  readonly next: number
}

/** What one reading found in a partition. */
export type Reading =
  | ({ readonly at: Position; readonly outcome: 'read'; readonly end: number } & FetchedRecords)
  /** There is nothing at the position any more. Reading continues with the first record that exists. */
  | { readonly at: Position; readonly outcome: 'removed'; readonly first: number }
  /** The partition moved to another broker, or its topic is gone. */
  | { readonly at: Position; readonly outcome: 'moved' }

const PURPOSE = 'collect'
const READ_COMMITTED = 1
const WITHOUT_SESSION = { id: 0, epoch: -1 }
const MIN_BYTES = 1
const UNKNOWN_EPOCH = -1

/** Reads partitions at given positions. It neither joins a group nor commits. */
export class RecordReader {
  readonly #cluster: Cluster
  readonly #fetchBytes: number

  constructor(cluster: Cluster, fetchBytes: number) {
    this.#cluster = cluster
    this.#fetchBytes = fetchBytes
  }

  /** Reads all partitions once. Waits up to `waitMs` for a record if there is none. */
  async read(positions: readonly Position[], waitMs: number): Promise<readonly Reading[]> {
    const byNode = Map.groupBy(
      positions,
      ({ topic, partition }) => this.#cluster.known(topic)?.leaders[partition],
    )
    const answers = [...byNode].map(([node, own]) =>
      node === undefined ? own.map(moved) : this.#readNode(node, own, waitMs),
    )
    return (await Promise.all(answers)).flat()
  }

  async #readNode(node: number, positions: readonly Position[], waitMs: number): Promise<readonly Reading[]> {
    const client = await this.#cluster.client()
    const connection = await this.#cluster.node(PURPOSE, node)
    const topics = [...Map.groupBy(positions, ({ topicId }) => topicId)].map(([topicId, own]) => ({
      topicId,
      partitions: own.map(({ partition, next }) => ({
        partition,
        currentLeaderEpoch: UNKNOWN_EPOCH,
        fetchOffset: BigInt(next),
        lastFetchedEpoch: UNKNOWN_EPOCH,
        partitionMaxBytes: this.#fetchBytes,
      })),
    }))
    const { id, epoch } = WITHOUT_SESSION
    const bytes = this.#fetchBytes
    const answer = await fetchRecords(
      client,
      connection,
      waitMs,
      MIN_BYTES,
      bytes,
      READ_COMMITTED,
      id,
      epoch,
      topics,
      [],
      '',
    ).catch(error => {
      // The partitions without an error are in the answer too.
      const partial = answerOf<FetchAnswer>(error)
      if (partial === undefined) throw error
      return partial
    })
    return await Promise.all(positions.map(at => this.#readingOf(client, at, answer)))
  }

  async #readingOf(client: KafkaClient, at: Position, { responses }: FetchAnswer): Promise<Reading> {
    const found = responses
      .find(({ topicId }) => topicId === at.topicId)
      ?.partitions.find(({ partitionIndex }) => partitionIndex === at.partition)
    if (found?.errorCode === CODE.offsetOutOfRange) return await this.#firstOf(at)
    if (found === undefined || found.errorCode !== 0) return moved(at)
    const read = readBatches(client, at.topic, at.partition, at.next, found)
    return { at, outcome: 'read', end: found.highWatermark, ...read }
  }

  async #firstOf(at: Position): Promise<Reading> {
    const topic = await this.#cluster.topic(at.topic)
    if (topic?.id !== at.topicId) return moved(at)
    return {
      at,
      outcome: 'removed',
      first: (await readOffsets(this.#cluster, topic, 'earliest'))[at.partition]!,
    }
  }
}

function moved(at: Position): Reading {
  return { at, outcome: 'moved' }
}
