import { monotonicNow } from '../../../ports/clock.ts'
import { KafkaUnreachableError, MessageTooLargeError, TopicMissingError } from '../errors.ts'
import type { KafkaSettings } from '../options.ts'
import type { ProduceAnswer } from './client.ts'
import type { Cluster, TopicInfo } from './cluster.ts'
import { partitionOf } from './murmur2.ts'
import {
  type Batch,
  type OutgoingRecord,
  PartitionQueue,
  type ProducerIdentity,
  type SendCall,
} from './partition-queue.ts'
import { produceBatches } from './produce.ts'
import { answerOf, CODE, explain } from './protocol-errors.ts'

const ALL_REPLICAS = -1
const ACK_TIMEOUT_MS = 10_000
const MAX_REQUEST_BYTES = 8_000_000
const FIRST_BACKOFF_MS = 20
const MAX_BACKOFF_MS = 1_000
/** How much goes to one partition before the next one is used, for records without a key. */
const STICKY_BYTES = 65_536

const SEQUENCE_LOST: readonly number[] = [
  CODE.outOfOrderSequence,
  CODE.invalidProducerEpoch,
  CODE.unknownProducer,
]
const TOO_LARGE: readonly number[] = [CODE.tooLarge, CODE.recordListTooLarge, CODE.invalidRecord]
const DENIED: readonly number[] = [CODE.topicDenied, CODE.clusterDenied]

/**
 * Publishes records with `acks=all` and sequence numbers, so that a batch that is sent again is stored once. Each leader has
 * one request on its way, with a batch for each of its partitions; what comes meanwhile goes with the next.
 */
export class Producer {
  readonly #cluster: Cluster
  readonly #settings: KafkaSettings
  /** Creates a topic that is missing; false if that is not ours to do. */
  readonly #restore: (topic: string) => Promise<boolean>
  readonly #queues = new Map<string, PartitionQueue[]>()
  readonly #busy = new Set<PartitionQueue>()
  readonly #sending = new Set<number>()
  readonly #sticky = new Map<string, { partition: number; bytes: number }>()
  #identity: ProducerIdentity | undefined
  #identifying: Promise<ProducerIdentity> | undefined
  #mustRun = false
  #isClosed = false

  constructor(cluster: Cluster, settings: KafkaSettings, restore: (topic: string) => Promise<boolean>) {
    this.#cluster = cluster
    this.#settings = settings
    this.#restore = restore
  }

  /**
   * Resolves with the offsets of the records when all of them are durable. Those of one partition keep their order. Records that
   * are not wanted any more are not sent again.
   */
  async send(
    records: readonly OutgoingRecord[],
    isWanted: () => boolean = () => true,
  ): Promise<readonly number[]> {
    if (records.length === 0) return []
    const refreshed = this.#cluster.refreshed()
    if (refreshed !== undefined) await refreshed
    const partitions = new Map<string, number>()
    for (const { topic } of records)
      if (!partitions.has(topic))
        partitions.set(topic, (this.#cluster.known(topic) ?? (await this.#find(topic))).leaders.length)
    return await new Promise((resolve, reject) => {
      const call: SendCall = { left: records.length, offsets: [], isWanted, resolve, reject }
      records.forEach((record, index) => {
        const queue = this.#queueOf(record, partitions.get(record.topic)!)
        queue.add(record, call, index)
        this.#busy.add(queue)
      })
      this.#runSoon()
    })
  }

  close(): void {
    this.#isClosed = true
    for (const queue of this.#busy) queue.fail(this.#unreachable('the broker was closed'))
    this.#busy.clear()
  }

  async #find(topic: string): Promise<TopicInfo> {
    return await this.#cluster.retrying(
      `topic '${topic}'`,
      async () => {
        const found = await this.#cluster.topic(topic)
        if (found !== undefined) return found
        if (!(await this.#restore(topic))) throw new TopicMissingError(topic)
        throw new Error('it was just created')
      },
      this.#settings.publishTimeoutMs,
    )
  }

  #queueOf(record: OutgoingRecord, partitions: number): PartitionQueue {
    const { topic } = record
    const queues = this.#queues.get(topic) ?? []
    this.#queues.set(topic, queues)
    const partition = this.#partitionOf(record, partitions)
    queues[partition] ??= new PartitionQueue(topic, partition)
    return queues[partition]
  }

  #partitionOf({ topic, partition, key, value }: OutgoingRecord, partitions: number): number {
    if (partition !== undefined) return partition % partitions
    if (key !== null) return partitionOf(key, partitions)
    let sticky = this.#sticky.get(topic)
    if (sticky === undefined) {
      sticky = { partition: Math.floor(this.#settings.random() * partitions), bytes: 0 }
      this.#sticky.set(topic, sticky)
    }
    sticky.bytes += value?.length ?? 0
    if (sticky.bytes > STICKY_BYTES) {
      sticky.bytes = 0
      sticky.partition++
    }
    return sticky.partition % partitions
  }

  /** Everything that is published in one turn goes together. */
  #runSoon(): void {
    if (this.#mustRun) return
    this.#mustRun = true
    queueMicrotask(() => {
      this.#mustRun = false
      void this.#run()
    })
  }

  async #run(): Promise<void> {
    let identity: ProducerIdentity
    try {
      identity = this.#identity ?? (await this.#identify())
    } catch (error) {
      for (const queue of this.#busy) queue.fail(error as Error)
      this.#busy.clear()
      return
    }
    const now = monotonicNow(this.#settings.clock)
    const byLeader = new Map<number, Batch[]>()
    let wakeAt = Number.POSITIVE_INFINITY
    for (const queue of this.#busy) {
      if (queue.isSending) continue
      if (queue.isUnwanted) {
        this.#drop(queue)
        this.#runSoon()
        continue
      }
      if (queue.restUntil > now) {
        wakeAt = Math.min(wakeAt, queue.restUntil)
        continue
      }
      const leader = this.#cluster.known(queue.topic)?.leaders[queue.partition]
      if (leader !== undefined && this.#sending.has(leader)) continue
      const batch = queue.nextBatch(
        identity,
        this.#settings.clock.now(),
        now + this.#settings.publishTimeoutMs,
      )
      if (batch === undefined) this.#busy.delete(queue)
      else if (leader === undefined) void this.#retry([batch], new Error('the partition has no leader'))
      else byLeader.set(leader, [...(byLeader.get(leader) ?? []), batch])
    }
    for (const [leader, batches] of byLeader) void this.#sendTo(leader, fitting(batches))
    if (Number.isFinite(wakeAt)) this.#settings.clock.schedule(wakeAt - now, () => this.#runSoon())
  }

  async #sendTo(leader: number, batches: readonly Batch[]): Promise<void> {
    this.#sending.add(leader)
    for (const { queue } of batches) queue.isSending = true
    try {
      const client = await this.#cluster.client()
      const connection = await this.#cluster.node('produce', leader)
      const answer = await produceBatches(client, connection, ALL_REPLICAS, ACK_TIMEOUT_MS, batches)
      await this.#settle(batches, answer)
    } catch (error) {
      const answer = answerOf<ProduceAnswer>(error)
      if (answer === undefined) await this.#retry(batches, error)
      else await this.#settle(batches, answer, error)
    } finally {
      this.#sending.delete(leader)
      for (const { queue } of batches) queue.isSending = false
      this.#runSoon()
    }
  }

  async #settle(batches: readonly Batch[], { responses }: ProduceAnswer, error?: unknown): Promise<void> {
    for (const batch of batches) {
      const { queue } = batch
      const answer = responses
        .find(({ name }) => name === queue.topic)
        ?.partitionResponses.find(({ index }) => index === queue.partition)
      if (answer === undefined) await this.#retry([batch], new Error('the answer lacks the partition'))
      else if (answer.errorCode === 0 || answer.errorCode === CODE.duplicateSequence)
        queue.delivered(batch, Number(answer.baseOffset))
      else await this.#refused(batch, answer.errorCode, error)
    }
  }

  async #refused(batch: Batch, code: number, error: unknown): Promise<void> {
    const { queue } = batch
    if (TOO_LARGE.includes(code)) this.#fail(batch, new MessageTooLargeError(queue.topic, batch.bytes, error))
    else if (DENIED.includes(code))
      this.#fail(batch, explain(this.#cluster.servers, `topic '${queue.topic}'`, error))
    else {
      if (SEQUENCE_LOST.includes(code)) {
        this.#identity = undefined
        const identity = await this.#identify().catch(() => undefined)
        if (identity !== undefined) queue.renumber(batch, identity)
      }
      await this.#retry([batch], error)
    }
  }

  /** The batches rest a little and are sent again, perhaps to another leader. */
  async #retry(batches: readonly Batch[], error: unknown): Promise<void> {
    const { clock } = this.#settings
    const now = monotonicNow(clock)
    for (const batch of batches) {
      const { queue } = batch
      if (queue.batch !== batch) continue
      if (now > batch.until || this.#isClosed) {
        this.#fail(batch, explain(this.#cluster.servers, `topic '${queue.topic}'`, error))
        continue
      }
      queue.restUntil = now + Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** queue.failures++)
    }
    await this.#refresh(batches)
    this.#runSoon()
  }

  /** Asks for the leaders. A topic that is gone is created again, or its batches fail. */
  async #refresh(batches: readonly Batch[]): Promise<void> {
    const topics = new Set(batches.map(({ queue }) => queue.topic))
    try {
      const found = await this.#cluster.topics([...topics])
      for (const topic of topics) {
        if (found.has(topic) || (await this.#restore(topic))) continue
        for (const batch of batches)
          if (batch.queue.topic === topic) this.#fail(batch, new TopicMissingError(topic))
      }
    } catch {
      // The next try refreshes again.
    }
  }

  /**
   * Whether the batch arrived may be unknown, so that the sequence of its partition cannot go on: with the same identity and
   * sequence, the server would take another batch for this one.
   */
  #fail(batch: Batch, error: Error): void {
    if (batch.queue.batch !== batch) return
    batch.queue.failed(batch, error)
    this.#identity = undefined
  }

  /** The records of a partition that another process owns now. One that was on its way may have arrived. */
  #drop(queue: PartitionQueue): void {
    const error = new Error('the partition has another owner')
    if (queue.batch === undefined) queue.fail(error)
    else this.#fail(queue.batch, error)
  }

  #unreachable(problem: string): Error {
    return new KafkaUnreachableError(this.#cluster.servers, problem)
  }

  #identify(): Promise<ProducerIdentity> {
    this.#identifying ??= this.#cluster
      .retrying(
        'a producer id',
        async () => {
          const { initProducerIdV4 } = await this.#cluster.client()
          const connection = await this.#cluster.any('control')
          const answer = await initProducerIdV4.api.async(connection, null, 0, -1n, -1)
          return { id: answer.producerId, epoch: answer.producerEpoch }
        },
        this.#settings.publishTimeoutMs,
      )
      .then(identity => {
        this.#identity = identity
        return identity
      })
      .finally(() => {
        this.#identifying = undefined
      })
    return this.#identifying
  }
}

/** As many batches as one request may have. All batches of a request have the same identity. */
function fitting(batches: readonly Batch[]): readonly Batch[] {
  const [{ identity }] = batches as [Batch]
  let bytes = 0
  return batches.filter(batch => {
    if (batch.identity !== identity) return false
    const isFirst = bytes === 0
    bytes += batch.bytes
    return isFirst || bytes <= MAX_REQUEST_BYTES
  })
}
