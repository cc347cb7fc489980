import { monotonicNow } from '../../../../ports/clock.ts'
import type { FetchAnswer, FetchAnswerPartition, KafkaClient } from '../../connection/client.ts'
import type { Cluster } from '../../connection/cluster.ts'
import { fetchRecords } from '../../connection/fetch.ts'
import { answerOf, CODE } from '../../connection/protocol-errors.ts'
import { type FetchedRecords, readBatches } from '../../connection/records.ts'
import type { KafkaSettings } from '../../options.ts'
import type { AssignedPartition } from './partition.ts'

interface FetchListener {
  /** The partitions that should be read now. */
  wanted(): Iterable<AssignedPartition>
  received(partition: AssignedPartition, fetched: FetchedRecords, end: number): void
  /** The topic has no record at the offset. */
  outOfRange(partition: AssignedPartition): void
  topicMissing(partition: AssignedPartition): void
  failed(partition: AssignedPartition, error: unknown): void
}

/** How long the broker waits for a record, in the first lane and in the others. */
const MAX_WAIT_MS = 500
const SHORT_WAIT_MS = 100
const MIN_BYTES = 1
const MAX_REQUEST_BYTES = 8_388_608
const MAX_PARTITION_BYTES = 1_048_576
const READ_COMMITTED = 1
/**
 * Requests at one time to one broker. Partitions that are read to their end share a request that waits for records; one that
 * comes to its end meanwhile waits in the second lane, for a short time. The other lanes are for partitions that have records,
 * so that these never wait behind one that has none.
 */
const LANES = 4
const LANES_THAT_WAIT = 2
const ALL_LANES: readonly number[] = Array.from({ length: LANES }, (_, lane) => lane)
const WAITING = ALL_LANES.slice(0, LANES_THAT_WAIT)
const WITH_RECORDS = ALL_LANES.slice(LANES_THAT_WAIT)
const REST_MS = 100
const NO_SESSION = -1

const MISSING: readonly number[] = [CODE.unknownTopic, CODE.unknownTopicId, CODE.inconsistentTopicId]

/**
 * Reads partitions, and only those that have room. Each broker is asked for all of its partitions together, and answers as
 * soon as one has a record.
 */
export class Fetcher {
  readonly #cluster: Cluster
  readonly #settings: KafkaSettings
  readonly #name: string
  readonly #listener: FetchListener
  readonly #busy = new Map<number, Set<number>>()
  #client: KafkaClient | undefined
  #willRun = false
  #isClosed = false

  constructor(cluster: Cluster, settings: KafkaSettings, name: string, listener: FetchListener) {
    this.#cluster = cluster
    this.#settings = settings
    this.#name = name
    this.#listener = listener
  }

  /** Looks which partitions have room, once per turn. */
  run(): void {
    if (this.#willRun || this.#isClosed) return
    this.#willRun = true
    queueMicrotask(() => {
      this.#willRun = false
      if (!this.#isClosed) this.#gather()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(ALL_LANES.map(lane => this.#cluster.closePool(this.#purpose(lane))))
  }

  #purpose(lane: number): string {
    return `fetch ${this.#name} ${lane}`
  }

  #gather(): void {
    const now = monotonicNow(this.#settings.clock)
    const byLeader = new Map<number, AssignedPartition[]>()
    const unknown: AssignedPartition[] = []
    for (const partition of this.#listener.wanted()) {
      if (partition.restUntil > now) continue
      const info = this.#cluster.known(partition.topic)
      const leader = info?.id === partition.topicId ? info.leaders[partition.partition] : undefined
      if (leader === undefined) unknown.push(partition)
      else byLeader.set(leader, [...(byLeader.get(leader) ?? []), partition])
    }
    for (const [leader, partitions] of byLeader) {
      const busy = this.#busy.get(leader) ?? new Set()
      this.#busy.set(leader, busy)
      const atEnd = partitions.filter(each => !isBehind(each))
      void this.#use(leader, busy, partitions.filter(isBehind), WITH_RECORDS)
      void this.#use(leader, busy, atEnd, WAITING)
    }
    if (unknown.length > 0) void this.#findLeaders(unknown)
  }

  /** Reads partitions in a lane that is free. Without one they are read when a lane is free again. */
  async #use(
    leader: number,
    busy: Set<number>,
    partitions: readonly AssignedPartition[],
    lanes: readonly number[],
  ): Promise<void> {
    const lane = partitions.length === 0 ? undefined : lanes.find(each => !busy.has(each))
    if (lane === undefined) return
    busy.add(lane)
    for (const each of partitions) each.isFetching = true
    // The server fills its answer in this order. The last ones would get nothing while those before them have a lag.
    const emptiestFirst = partitions.toSorted((a, b) => a.bufferedBytes - b.bufferedBytes)
    const from = new Map(emptiestFirst.map(each => [each, each.window.readTo]))
    const { answer, problem } = await this.#fetch(leader, lane, from)
    // Before the records are read, because the partitions are asked for again as soon as these are.
    busy.delete(lane)
    for (const [partition, offset] of from) {
      partition.isFetching = false
      if (this.#isClosed || !partition.isOurs) continue
      const found = answer.responses
        .find(({ topicId }) => topicId === partition.topicId)
        ?.partitions.find(({ partitionIndex }) => partitionIndex === partition.partition)
      if (found === undefined) this.#failed(partition, problem ?? new Error('the answer lacks the partition'))
      else this.#read(partition, found, offset, problem)
    }
    this.run()
  }

  /** Never rejects. */
  async #fetch(
    leader: number,
    lane: number,
    from: ReadonlyMap<AssignedPartition, number>,
  ): Promise<{ readonly answer: FetchAnswer; readonly problem?: unknown }> {
    try {
      this.#client ??= await this.#cluster.client()
      const connection = await this.#cluster.node(this.#purpose(lane), leader)
      const byTopic = Map.groupBy(from.keys(), ({ topicId }) => topicId)
      const topics = [...byTopic].map(([topicId, each]) => ({
        topicId,
        partitions: each.map(partition => ({
          partition: partition.partition,
          currentLeaderEpoch: -1,
          fetchOffset: BigInt(from.get(partition)!),
          lastFetchedEpoch: -1,
          partitionMaxBytes: MAX_PARTITION_BYTES,
        })),
      }))
      const answer = await fetchRecords(
        this.#client,
        connection,
        lane === 0 ? MAX_WAIT_MS : SHORT_WAIT_MS,
        MIN_BYTES,
        MAX_REQUEST_BYTES,
        READ_COMMITTED,
        0,
        NO_SESSION,
        topics,
        [],
        '',
      )
      return { answer }
    } catch (error) {
      return { answer: answerOf<FetchAnswer>(error) ?? { responses: [] }, problem: error }
    }
  }

  #read(partition: AssignedPartition, found: FetchAnswerPartition, from: number, problem: unknown): void {
    const { errorCode, highWatermark, readableTo } = found
    if (errorCode === 0) {
      // Its window was reopened while it was read.
      if (partition.window.readTo !== from) return
      let fetched: FetchedRecords
      try {
        fetched = readBatches(this.#client!, partition.topic, partition.partition, from, found)
      } catch (error) {
        this.#failed(partition, error)
        return
      }
      partition.readableTo = readableTo
      this.#listener.received(partition, fetched, highWatermark)
    } else if (errorCode === CODE.offsetOutOfRange) {
      this.#rest(partition)
      this.#listener.outOfRange(partition)
    } else {
      if (MISSING.includes(errorCode)) this.#listener.topicMissing(partition)
      this.#failed(partition, problem)
    }
  }

  /** The leader may be another one by now. */
  #failed(partition: AssignedPartition, error: unknown): void {
    this.#cluster.forgetTopic(partition.topic)
    this.#listener.failed(partition, error)
    this.#rest(partition)
  }

  #rest(partition: AssignedPartition): void {
    const { clock } = this.#settings
    partition.restUntil = monotonicNow(clock) + REST_MS
    clock.schedule(REST_MS, () => this.run())
  }

  async #findLeaders(partitions: readonly AssignedPartition[]): Promise<void> {
    for (const each of partitions) each.isFetching = true
    try {
      const found = await this.#cluster.topics([...new Set(partitions.map(({ topic }) => topic))])
      for (const each of partitions) {
        const info = found.get(each.topic)
        if (info?.id !== each.topicId) this.#listener.topicMissing(each)
        else if (info.leaders[each.partition] === undefined)
          this.#listener.failed(each, new Error(`partition ${each.partition} has no leader`))
        else continue
        this.#rest(each)
      }
    } catch (error) {
      for (const each of partitions) {
        this.#rest(each)
        this.#listener.failed(each, error)
      }
    } finally {
      for (const each of partitions) each.isFetching = false
      this.run()
    }
  }
}

/** There were more records when it was last read. */
function isBehind({ window, readableTo }: AssignedPartition): boolean {
  return window.readTo < readableTo
}
