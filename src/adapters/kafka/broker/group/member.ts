import { type Cancel, monotonicNow, settlesWithin } from '../../../../ports/clock.ts'
import type { HeartbeatAnswer } from '../../connection/client.ts'
import type { Cluster } from '../../connection/cluster.ts'
import { CODE, explain, hasCode } from '../../connection/protocol-errors.ts'
import type { KafkaSettings } from '../../options.ts'

/** A partition of a topic of the group. */
export interface TopicPartition {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
}

/** What the parts of a subscription do when partitions come and go. */
interface MemberListener {
  /** These partitions are ours from now on. */
  assigned(partitions: readonly TopicPartition[]): void
  /** Another member wants these. They stay ours until the promise resolves, and it says what was done with them. */
  revoked(partitions: readonly TopicPartition[]): Promise<void>
  /** The group gave everything to others: nothing can be committed any more. */
  lost(): void
  failed(error: Error): void
  works(): void
}

const LEAVE = -1
/** The assignor of the server that gives one member the same partitions of every topic. */
const ASSIGNOR = 'range'
/** How long the server waits for a member that has to give partitions back. */
const REBALANCE_TIMEOUT_MS = 300_000
/**
 * Without an answer for so many intervals, others may have our partitions. Servers wait 45 s and ask for a heartbeat every
 * 5 s, unless they are told otherwise.
 */
const MISSED_INTERVALS = 6
const LEAVE_MS = 5_000

/**
 * A member of a consumer group, by the protocol of Kafka 4 (KIP-848): heartbeats say what the member has, and the answers
 * say what it should have. Partitions that stay are not touched when others come and go. Heartbeats depend on nothing
 * else, so that neither a slow handler nor a pause costs the membership.
 */
export class GroupMember {
  readonly #cluster: Cluster
  readonly #settings: KafkaSettings
  readonly #group: string
  readonly #topics: readonly string[]
  readonly #listener: MemberListener
  readonly id: string
  #epoch = 0
  /** How often the membership was lost. What was learned in an earlier one does not count. */
  #losses = 0
  #owned = new Map<string, TopicPartition>()
  #target: ReadonlyMap<string, TopicPartition> | undefined
  #names = new Map<string, string>()
  #isBeating = false
  #mustBeat = false
  #isReconciling = false
  #isClosed = false
  #aliveAt: number
  #intervalMs = 5_000
  #cancelBeat: Cancel = () => {}
  #waiting: { resolve(): void; reject(error: Error): void }[] = []

  constructor(
    cluster: Cluster,
    settings: KafkaSettings,
    group: string,
    topics: readonly string[],
    id: string,
    listener: MemberListener,
  ) {
    this.#cluster = cluster
    this.#settings = settings
    this.#group = group
    this.#topics = topics
    this.id = id
    this.#listener = listener
    this.#aliveAt = monotonicNow(settings.clock)
  }

  get epoch(): number {
    return this.#epoch
  }

  /** The first time it fails instead of trying again without limit: the caller of subscribe wants the error. */
  async join(): Promise<void> {
    await this.#cluster.retrying(`group '${this.#group}'`, () => this.#beat())
    this.#schedule()
  }

  /** Resolves after the next heartbeat that is answered, which says the current epoch. */
  refreshed(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#beatNow()
    })
  }

  /** The server said that we are not a member any more. */
  expel(): void {
    if (this.#isClosed || this.#epoch === 0) return
    this.#lose()
    this.#beatNow()
  }

  async leave(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#cancelBeat()
    this.#endWaits(new Error('the subscription is closed'))
    if (this.#epoch === 0) return
    await settlesWithin(this.#settings.clock, LEAVE_MS, this.#request(LEAVE, []))
  }

  #beatNow(): void {
    if (this.#isClosed) return
    this.#cancelBeat()
    void this.#run()
  }

  #schedule(): void {
    this.#cancelBeat()
    if (!this.#isClosed)
      this.#cancelBeat = this.#settings.clock.schedule(this.#settings.heartbeatMs, () => void this.#run())
  }

  /** One heartbeat at a time. One that is asked for meanwhile follows at once. */
  async #run(): Promise<void> {
    if (this.#isBeating) {
      this.#mustBeat = true
      return
    }
    this.#isBeating = true
    try {
      await this.#beat()
      this.#listener.works()
    } catch (error) {
      if (!this.#isClosed) this.#failed(error)
    } finally {
      this.#isBeating = false
    }
    if (this.#mustBeat && !this.#isClosed) {
      this.#mustBeat = false
      void this.#run()
    } else this.#schedule()
  }

  async #beat(): Promise<void> {
    let answer: HeartbeatAnswer
    try {
      answer = await this.#request(this.#epoch, [...this.#owned.values()])
    } catch (error) {
      if (hasCode(error, CODE.notCoordinator, CODE.coordinatorNotAvailable))
        this.#cluster.forgetCoordinator(this.#group)
      if (hasCode(error, CODE.unknownMember, CODE.fencedMemberEpoch)) {
        this.#lose()
        this.#mustBeat = true
        return
      }
      throw error
    }
    if (this.#isClosed) return
    this.#aliveAt = monotonicNow(this.#settings.clock)
    this.#epoch = answer.memberEpoch
    this.#intervalMs = answer.heartbeatIntervalMs
    this.#endWaits()
    if (answer.assignment === null) return
    await this.#retarget(answer.assignment.topicPartitions, this.#losses)
    void this.#reconcile()
  }

  async #request(epoch: number, owned: readonly TopicPartition[]): Promise<HeartbeatAnswer> {
    const { consumerGroupHeartbeatV1 } = await this.#cluster.client()
    try {
      const connection = await this.#cluster.coordinator(this.#group)
      const byTopic = Map.groupBy(owned, ({ topicId }) => topicId)
      return await consumerGroupHeartbeatV1.api.async(
        connection,
        this.#group,
        this.id,
        epoch,
        null,
        null,
        REBALANCE_TIMEOUT_MS,
        [...this.#topics],
        null,
        ASSIGNOR,
        [...byTopic].map(([topicId, each]) => ({
          topicId,
          partitions: each.map(({ partition }) => partition),
        })),
      )
    } catch (error) {
      // The coordinator may be another node by now.
      this.#cluster.forgetCoordinator(this.#group)
      throw error
    }
  }

  /** The server names topics by id. A topic that was created again has another id. */
  async #retarget(
    assignment: readonly { topicId: string; partitions: readonly number[] }[],
    losses: number,
  ): Promise<void> {
    if (assignment.some(({ topicId }) => !this.#names.has(topicId))) {
      const found = await this.#cluster.topics(this.#topics)
      this.#names = new Map([...found.values()].map(({ id, name }) => [id, name]))
    }
    const target = new Map<string, TopicPartition>()
    for (const { topicId, partitions } of assignment) {
      const topic = this.#names.get(topicId)
      if (topic === undefined) continue
      for (const partition of partitions) target.set(`${topicId} ${partition}`, { topic, topicId, partition })
    }
    if (this.#losses === losses) this.#target = target
  }

  async #reconcile(): Promise<void> {
    if (this.#isReconciling) return
    this.#isReconciling = true
    try {
      while (this.#target !== undefined && !this.#isClosed) {
        const target = this.#target
        this.#target = undefined
        const leaving = [...this.#owned].filter(([key]) => !target.has(key))
        const losses = this.#losses
        if (leaving.length > 0) await this.#listener.revoked(leaving.map(([, each]) => each))
        if (this.#isClosed) return
        // Everything was lost meanwhile, and the group decides again.
        if (this.#losses !== losses) continue
        for (const [key] of leaving) this.#owned.delete(key)
        const latest = this.#target ?? target
        const coming = [...target].filter(([key]) => !this.#owned.has(key) && latest.has(key))
        for (const [key, each] of coming) this.#owned.set(key, each)
        if (coming.length > 0) this.#listener.assigned(coming.map(([, each]) => each))
        if (leaving.length + coming.length > 0) this.#beatNow()
      }
    } finally {
      this.#isReconciling = false
    }
  }

  #failed(error: unknown): void {
    const { clock, sessionTimeoutMs = Number.POSITIVE_INFINITY } = this.#settings
    const keptMs = Math.min(MISSED_INTERVALS * this.#intervalMs, sessionTimeoutMs)
    if (this.#epoch > 0 && monotonicNow(clock) - this.#aliveAt > keptMs) this.#lose()
    this.#listener.failed(explain(this.#cluster.servers, `group '${this.#group}'`, error))
  }

  #lose(): void {
    this.#epoch = 0
    this.#losses++
    this.#owned = new Map()
    this.#target = undefined
    this.#endWaits(new Error('the group has expelled this member'))
    this.#listener.lost()
  }

  #endWaits(error?: Error): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { resolve, reject } of waiting) error === undefined ? resolve() : reject(error)
  }
}
