import { delay, settlesWithin } from '../../../../ports/clock.ts'
import { explain } from '../../connection/protocol-errors.ts'
import type { FetchedRecords } from '../../connection/records.ts'
import { RecordsRemovedError, TopicMissingError, TopicRecreatedError } from '../../errors.ts'
import { Committer } from '../group/committer.ts'
import { GroupMember, type TopicPartition } from '../group/member.ts'
import { readOffsets, readProgress } from '../group/offsets.ts'
import { type Progress, progressAt } from '../group/progress.ts'
import type { SubscriptionContext } from './context.ts'
import { FailureCount } from './failure-count.ts'
import { Fetcher } from './fetcher.ts'
import { AssignedPartition } from './partition.ts'

/** What a subscription does with its partitions. */
interface AssignmentListener {
  received(partition: AssignedPartition, fetched: FetchedRecords): void
  /** Everything was read that was in the partition when it was opened. */
  caughtUp(partition: AssignedPartition): void
  /** Resolves when nothing of them is being handled, or when that took too long. */
  drain(partitions: readonly AssignedPartition[]): Promise<void>
  /** They are not ours any more: their open deliveries are lost. */
  lost(partitions: readonly AssignedPartition[]): void
  /** Called before its first record is read. */
  opened(partition: AssignedPartition): Promise<void>
  /** Announced attempts may begin. */
  committed(): void
  /** Whether records may be read. */
  mayFetch(): boolean
}

const REOPEN_MS = 500
const FINISH_MS = 3_000

/**
 * The partitions that the group has given to a subscription. It opens them where the group is, reads their records,
 * commits their progress and gives them back.
 */
export class Assignment {
  readonly #context: SubscriptionContext
  readonly #listener: AssignmentListener
  readonly #member: GroupMember
  readonly #fetcher: Fetcher
  readonly committer: Committer
  readonly #steps: ReadonlyMap<string, number>
  #partitions = new Map<string, AssignedPartition>()
  readonly #membership: FailureCount
  /** The reported errors of topics that were deleted, by name. */
  readonly #deleted = new Map<string, Error>()
  /** The ids of the topics that were assigned last, by name. */
  readonly #ids = new Map<string, string>()

  constructor(context: SubscriptionContext, topics: readonly string[], listener: AssignmentListener) {
    this.#context = context
    this.#listener = listener
    const { cluster, settings, names, id, stalls } = context
    this.#membership = new FailureCount(stalls)
    this.#steps = new Map([
      [names.again, 0],
      ...names.retries.map(({ name, stepMs }): [string, number] => [name, stepMs]),
    ])
    this.#member = new GroupMember(cluster, settings, names.group, topics, id, {
      assigned: partitions => this.#assigned(partitions),
      revoked: partitions => this.#revoked(partitions),
      lost: () => this.#lost(),
      failed: error => this.#membership.failed(error),
      works: () => this.#membership.works(),
    })
    this.#fetcher = new Fetcher(cluster, settings, id, {
      wanted: () => (listener.mayFetch() ? this.wanted() : []),
      received: (partition, fetched, end) => this.#received(partition, fetched, end),
      outOfRange: partition => void this.#reopen(partition),
      topicMissing: partition => void this.#restore(partition),
      failed: (partition, error) => this.#partitionFailed(partition, error),
    })
    this.committer = new Committer(cluster, settings, names.group, this.#member, {
      partitions: () => this.#partitions.values(),
      committed: () => listener.committed(),
      failed: error => stalls.stalled('settlements', this, error),
      works: () => stalls.ended('settlements', this),
    })
  }

  get partitions(): Iterable<AssignedPartition> {
    return this.#partitions.values()
  }

  partition(topic: string, partition: number): AssignedPartition | undefined {
    return this.#partitions.get(`${topic} ${partition}`)
  }

  /**
   * Retries can wait for an hour, so that the room which they take must not be that of other records: each of their
   * partitions has a share of its own.
   */
  wanted(): Iterable<AssignedPartition> {
    const { bufferBytes } = this.#context.settings
    let bytes = 0
    let retries = 0
    for (const { stepMs, bufferedBytes } of this.#partitions.values())
      if (stepMs === undefined) bytes += bufferedBytes
      else retries++
    const hasRoom = ({ stepMs, bufferedBytes }: AssignedPartition) =>
      stepMs === undefined ? bytes <= bufferBytes : bufferedBytes <= bufferBytes / retries
    return [...this.#partitions.values()].filter(each => each.wantsRecords && hasRoom(each))
  }

  join(): Promise<void> {
    return this.#member.join()
  }

  /** Reads a partition again from where it is settled. */
  async rewind(partition: AssignedPartition): Promise<void> {
    // Somebody is opening it.
    if (!partition.isOpen) return
    const { window, knownEnd } = partition
    await this.#openAgain(partition, () => window.progress(window.position, undefined), knownEnd)
  }

  async #openAgain(partition: AssignedPartition, progress: () => Progress, end?: number): Promise<void> {
    partition.isOpen = false
    const { settings } = this.#context
    while (partition.isOurs && !partition.isLeaving) {
      try {
        await this.#readOrder(partition)
        this.#start(partition, progress(), end)
        this.fetch()
        return
      } catch (error) {
        this.#partitionFailed(partition, error)
        await delay(settings.clock, REOPEN_MS)
      }
    }
  }

  /** Reads on where there is room. */
  fetch(): void {
    this.#fetcher.run()
  }

  /** Gives everything back and leaves the group. */
  async close(): Promise<void> {
    for (const each of this.#partitions.values()) each.isLeaving = true
    await this.#finish([...this.#partitions.values()])
    for (const each of this.#partitions.values()) each.isOurs = false
    this.committer.close()
    await Promise.all([this.#member.leave(), this.#fetcher.close()])
  }

  #assigned(partitions: readonly TopicPartition[]): void {
    const added = partitions.map(each => new AssignedPartition(each, this.#steps.get(each.topic)))
    for (const each of added) {
      const { topic, topicId } = each
      this.#partitions.set(`${topic} ${each.partition}`, each)
      if ((this.#ids.get(topic) ?? topicId) !== topicId)
        this.#reportDeleted(topic, new TopicRecreatedError(topic))
      this.#ids.set(topic, topicId)
    }
    void this.#open(added)
  }

  /** A partition without a commit is read from its beginning: it is new, or its topic was created again. */
  async #open(added: readonly AssignedPartition[]): Promise<void> {
    const { cluster, names, settings } = this.#context
    const byTopic = Map.groupBy(added, ({ topic }) => topic)
    const questions = [...byTopic].map(([name, each]) => {
      return { name, id: each[0]!.topicId, partitions: each.map(({ partition }) => partition) }
    })
    for (let left = added.filter(each => each.isOurs); left.length > 0; ) {
      try {
        await cluster.topics([...byTopic.keys()])
        const stored = await readProgress(cluster, names.group, questions)
        const ends = byTopic.has(names.channel) ? await this.#readEnds() : []
        for (const each of left) {
          if (!each.isOurs || each.isOpen) continue
          await this.#readOrder(each)
          const progress = stored.get(each.topic)?.get(each.partition) ?? progressAt(0)
          this.#start(each, progress, each.topic === names.channel ? ends[each.partition] : undefined)
        }
        this.fetch()
        return
      } catch (error) {
        for (const each of left) if (!each.isOpen) this.#partitionFailed(each, error)
        await delay(settings.clock, REOPEN_MS)
        left = left.filter(each => each.isOurs && !each.isOpen)
      }
    }
  }

  /**
   * Where the partitions of the channel end. The end in the answer to a fetch can be too low: a new leader learns only
   * from its followers what the old one had shown. When it is asked for the end itself, it waits for them.
   */
  async #readEnds(): Promise<readonly number[]> {
    const { cluster, names } = this.#context
    const info = cluster.known(names.channel)
    return info === undefined ? [] : await readOffsets(cluster, info, 'latest')
  }

  /** Nothing may be left to read in it. */
  #start(partition: AssignedPartition, progress: Progress, end?: number): void {
    partition.open(progress, end)
    if (partition.hasCaughtUp) this.#listener.caughtUp(partition)
  }

  /** The order can be lost again while it is read. */
  async #readOrder(partition: AssignedPartition): Promise<void> {
    let losses: number
    do {
      losses = partition.orderLosses
      await this.#listener.opened(partition)
    } while (losses !== partition.orderLosses && partition.isOurs)
  }

  async #revoked(partitions: readonly TopicPartition[]): Promise<void> {
    const leaving = partitions
      .map(({ topic, topicId, partition }) => {
        const found = this.partition(topic, partition)
        return found?.topicId === topicId ? found : undefined
      })
      .filter(each => each !== undefined)
    for (const each of leaving) each.isLeaving = true
    await settlesWithin(this.#context.settings.clock, FINISH_MS, this.#findDeleted(leaving))
    await this.#listener.drain(leaving)
    await this.#finish(leaving)
    this.#drop(leaving)
  }

  async #findDeleted(leaving: readonly AssignedPartition[]): Promise<void> {
    const found = await this.#context.cluster.topics([...new Set(leaving.map(({ topic }) => topic))])
    for (const each of leaving) each.isDeleted = found.get(each.topic)?.id !== each.topicId
  }

  /** If the commit fails or takes too long, the next owner reads again what it would have said. */
  async #finish(partitions: readonly AssignedPartition[]): Promise<void> {
    await settlesWithin(this.#context.settings.clock, FINISH_MS, this.committer.finish(partitions))
  }

  #lost(): void {
    this.#drop([...this.#partitions.values()])
  }

  #drop(partitions: readonly AssignedPartition[]): void {
    for (const each of partitions) {
      each.isOurs = false
      this.#partitions.delete(`${each.topic} ${each.partition}`)
      each.failures?.works()
    }
    this.committer.forget()
    this.#listener.lost(partitions)
  }

  #received(partition: AssignedPartition, fetched: FetchedRecords, end: number): void {
    // A partition that is being opened again is read from its position.
    if (!partition.isOurs || !partition.isOpen || partition.isLeaving) return
    this.#readAgain(partition.topic)
    partition.failures?.works()
    const wasBehind = !partition.hasCaughtUp
    partition.ends(end)
    const before = partition.window.position
    this.#listener.received(partition, fetched)
    partition.window.skipTo(fetched.nextOffset)
    if (wasBehind && partition.hasCaughtUp) this.#listener.caughtUp(partition)
    if (partition.window.position > before) {
      partition.isDirty = true
      this.committer.soon()
    }
    this.fetch()
  }

  /**
   * The topic has no record at the offset that we wanted. Retention removed it, or the topic lost its end in a failure of its
   * brokers. In both cases it is read from its beginning: to deliver twice is better than to lose.
   */
  async #reopen(partition: AssignedPartition): Promise<void> {
    const { cluster, stalls } = this.#context
    try {
      const info = await cluster.topic(partition.topic)
      if (info?.id !== partition.topicId) return
      const first = (await readOffsets(cluster, info, 'earliest'))[partition.partition]
      if (first === undefined || !partition.isOurs) return
      const { readTo } = partition.window
      if (readTo > 0) {
        stalls.stalled(
          'deliveries',
          partition,
          new RecordsRemovedError(info.name, partition.partition, readTo, first),
        )
        stalls.ended('deliveries', partition)
      }
      if (readTo < first) partition.window.skipTo(first)
      else if (partition.isOpen) {
        partition.orderLosses++
        this.#listener.lost([partition])
        await this.#openAgain(partition, () => progressAt(first))
      }
    } catch {
      // The next fetch finds the same.
    }
    this.fetch()
  }

  /** The topic of the partition is gone. It is created again, if that is ours to do and nobody else has done it. */
  async #restore(partition: AssignedPartition): Promise<void> {
    const { topic, topicId } = partition
    const { topics, cluster } = this.#context
    const found = await cluster.topics([topic]).catch(() => undefined)
    if (found === undefined || found.get(topic)?.id === topicId || !partition.isOurs) return
    if (found.has(topic)) this.#reportDeleted(topic, new TopicRecreatedError(topic))
    else {
      this.#reportDeleted(topic, new TopicMissingError(topic))
      await topics.restore(topic).catch(() => {})
    }
  }

  /** Reported until the topic is read again. */
  #reportDeleted(topic: string, error: Error): void {
    const { stalls } = this.#context
    const reported = this.#deleted.get(topic)
    if (reported?.name === error.name) return
    if (reported !== undefined) stalls.ended('deliveries', reported)
    this.#deleted.set(topic, error)
    stalls.stalled('deliveries', error, error)
  }

  #readAgain(topic: string): void {
    const reported = this.#deleted.get(topic)
    if (reported === undefined) return
    this.#deleted.delete(topic)
    this.#context.stalls.ended('deliveries', reported)
  }

  /** One partition can fail for long while the others work. */
  #partitionFailed(partition: AssignedPartition, error: unknown): void {
    if (!partition.isOurs) return
    const { cluster, names, stalls } = this.#context
    partition.failures ??= new FailureCount(stalls)
    partition.failures.failed(explain(cluster.servers, `group '${names.group}'`, error))
  }
}
