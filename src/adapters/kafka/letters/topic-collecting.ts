import { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import type { LetterSaver } from '../../../adapter-kit/collecting/letter-saver.ts'
import { matchesPattern } from '../../../core/options/pattern.ts'
import type { QueueDepth } from '../../../ports/broker.ts'
import { monotonicNow } from '../../../ports/clock.ts'
import { allPartitions, commit, readOffsets, readProgress } from '../broker/group/offsets.ts'
import { progressAt } from '../broker/group/progress.ts'
import type { Cluster, TopicInfo } from '../connection/cluster.ts'
import { CODE, hasCode } from '../connection/protocol-errors.ts'
import type { KafkaRecord } from '../connection/records.ts'
import { LettersRemovedError, LetterTopicRecreatedError } from './errors.ts'
import { collect } from './letter.ts'
import type { KafkaCollectorSettings } from './options.ts'
import { type Position, type Reading, RecordReader } from './record-reader.ts'

/** How long a reading waits for a record when there was none. */
const IDLE_WAIT_MS = 500
/** The number of letters that are saved at once. */
const SAVED_AT_ONCE = 500
const COMMIT_ALL_MS = 3_600_000
/** The group has no members, so that it commits for nobody else. */
const NO_MEMBER = { id: '', epoch: -1 }

/** A partition that is being collected. */
interface Progress extends Position {
  /** The offset after the last record of the partition, when it was last read. */
  readonly end: number
}

/**
 * Collects the topics one reading after the other: read, save, commit. The offset of a partition is committed after its
 * letters are saved, so a crash repeats records and loses none. A repeated record becomes the letter that it was before.
 */
export class TopicCollecting {
  readonly #settings: KafkaCollectorSettings
  readonly #cluster: Cluster
  readonly #reader: RecordReader
  readonly #failures = new FailureCache()
  readonly #progress = new Map<string, Progress>()
  /** The ids of the topics that were collected, by name. */
  readonly #ids = new Map<string, string>()
  #listedAt: number | undefined
  #wasBusy = true
  /** When the offsets of all partitions were last committed. */
  #committedAt: number | undefined

  constructor(settings: KafkaCollectorSettings, cluster: Cluster) {
    this.#settings = settings
    this.#cluster = cluster
    this.#reader = new RecordReader(cluster, settings.fetchBytes)
  }

  /** Whether everything that the last reading found is saved. */
  get isCaughtUp(): boolean {
    return [...this.#progress.values()].every(({ next, end }) => next >= end)
  }

  get hasTopics(): boolean {
    return this.#progress.size > 0
  }

  /** Reads and saves once. `isWanted` becomes false when the collector stops. */
  async collectOnce(saver: LetterSaver, isWanted: () => boolean): Promise<void> {
    if (this.#isListDue()) await this.#findTopics()
    if (this.#progress.size === 0 || !isWanted()) return
    const readings = await this.#reader.read([...this.#progress.values()], this.#wasBusy ? 0 : IDLE_WAIT_MS)
    const saved: Progress[] = []
    for (const reading of readings) {
      const reached = await this.#apply(reading, saver, isWanted)
      if (reached === undefined) continue
      const key = keyOf(reading.at)
      const progress = { ...this.#progress.get(key)!, ...reached }
      this.#progress.set(key, progress)
      if (progress.next !== reading.at.next) saved.push(progress)
    }
    this.#wasBusy = saved.length > 0
    if (this.#isCommitDue()) await this.#commit([...this.#progress.values()])
    else if (saved.length > 0) await this.#commit(saved)
    if (readings.some(({ outcome }) => outcome === 'moved')) this.#listedAt = undefined
  }

  /** Counts the records that are not letters yet. */
  async depths(): Promise<readonly QueueDepth[]> {
    const depths: QueueDepth[] = []
    for (const topic of await this.#topicsNow()) {
      const positions = await this.#positionsOf(topic)
      const left = positions.map(({ first, next, end }) => end - Math.max(first, next))
      depths.push({ queue: topic.name, depth: left.reduce((sum, each) => sum + Math.max(0, each), 0) })
    }
    return depths
  }

  #isListDue(): boolean {
    if (this.#listedAt === undefined) return true
    return monotonicNow(this.#cluster.clock) - this.#listedAt >= this.#settings.pollIntervalMs
  }

  /** Kafka forgets the offsets of a group without members that were not committed for a week. */
  #isCommitDue(): boolean {
    const now = monotonicNow(this.#cluster.clock)
    this.#committedAt ??= now
    if (now - this.#committedAt < COMMIT_ALL_MS) return false
    this.#committedAt = now
    return true
  }

  /** Begins with new topics and partitions, and forgets those that are gone. */
  async #findTopics(): Promise<void> {
    const topics = await this.#topicsNow()
    const ids = new Set(topics.map(({ id }) => id))
    // A topic that is deleted and created again has another id, and its offsets begin again.
    for (const [key, { topicId }] of this.#progress) if (!ids.has(topicId)) this.#progress.delete(key)
    for (const topic of topics) {
      const { name, id, leaders } = topic
      if ((this.#ids.get(name) ?? id) !== id) this.#settings.onError(new LetterTopicRecreatedError(name))
      this.#ids.set(name, id)
      const isKnown = leaders.every((_, partition) => this.#progress.has(keyOf({ topic: name, partition })))
      if (isKnown) continue
      for (const { first: _, ...begin } of await this.#positionsOf(topic))
        if (!this.#progress.has(keyOf(begin))) this.#progress.set(keyOf(begin), begin)
    }
    this.#listedAt = monotonicNow(this.#cluster.clock)
  }

  /** Where the group is in each partition. It begins with the first record of a partition that it has not read. */
  async #positionsOf(topic: TopicInfo): Promise<readonly (Progress & { readonly first: number })[]> {
    const { name, id: topicId } = topic
    const stored = await readProgress(this.#cluster, this.#settings.group, [allPartitions(topic)])
    const firsts = await readOffsets(this.#cluster, topic, 'earliest')
    const ends = await readOffsets(this.#cluster, topic, 'latest')
    return ends.map((end, partition) => {
      const first = firsts[partition] ?? 0
      const next = stored.get(name)?.get(partition)?.position ?? first
      return { topic: name, topicId, partition, first, next, end }
    })
  }

  async #commit(reached: readonly Progress[]): Promise<void> {
    const commits = reached.map(({ next, end: _, ...place }) => ({ ...place, progress: progressAt(next) }))
    try {
      await commit(this.#cluster, this.#settings.group, NO_MEMBER, commits)
    } catch (error) {
      if (!hasCode(error, CODE.unknownMember)) throw error
      const { group } = this.#settings
      throw new Error(`group '${group}' has members; give the collector a group that nobody else uses`, {
        cause: error,
      })
    }
  }

  /** The topics of the options that exist now, with their leaders. */
  async #topicsNow(): Promise<readonly TopicInfo[]> {
    const { topics } = this.#settings
    const named = topics.filter(topic => !topic.includes('*'))
    const patterns = topics.filter(topic => topic.includes('*'))
    const all = patterns.length === 0 ? [] : await this.#cluster.topicNames()
    // Kafka's own topics begin with two underscores.
    const matching = all.filter(
      topic => !topic.startsWith('__') && patterns.some(pattern => matchesPattern(pattern, topic)),
    )
    return [...(await this.#cluster.topics([...new Set([...named, ...matching])])).values()]
  }

  /** The offsets that a reading has reached, with all letters before them saved; undefined if there are none. */
  async #apply(
    reading: Reading,
    saver: LetterSaver,
    isWanted: () => boolean,
  ): Promise<Pick<Progress, 'next' | 'end'> | undefined> {
    const { at } = reading
    if (reading.outcome === 'moved') return undefined
    if (reading.outcome === 'removed') {
      this.#settings.onError(new LettersRemovedError(at.topic, at.partition, at.next, reading.first))
      return { next: reading.first, end: reading.first }
    }
    const { records, nextOffset, end } = reading
    for (let from = 0; from < records.length; from += SAVED_AT_ONCE) {
      const some = records.slice(from, from + SAVED_AT_ONCE)
      const saved = await Promise.all(some.map(record => this.#save(record, saver, isWanted)))
      if (!saved.every(Boolean)) return undefined
    }
    return { next: nextOffset, end }
  }

  #save(record: KafkaRecord, saver: LetterSaver, isWanted: () => boolean): Promise<boolean> {
    const { connection, originalTopics } = this.#settings
    const { letter, isTimeKnown } = collect(record, {
      broker: connection.name,
      originalTopics,
      now: connection.clock.now(),
      failures: this.#failures,
    })
    const content = record.value ?? new Uint8Array()
    return saver.save({ letter, content, mayBeKnown: !isTimeKnown }, isWanted)
  }
}

function keyOf({ topic, partition }: Pick<Position, 'topic' | 'partition'>): string {
  return `${topic}/${partition}`
}
