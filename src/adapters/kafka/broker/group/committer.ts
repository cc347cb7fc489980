import { type Cancel, delay, equalJitter } from '../../../../ports/clock.ts'
import type { Cluster } from '../../connection/cluster.ts'
import { CODE, explain, hasCode } from '../../connection/protocol-errors.ts'
import type { KafkaSettings } from '../../options.ts'
import type { AssignedPartition } from '../consume/partition.ts'
import type { GroupMember } from './member.ts'
import { commit, type PartitionCommit } from './offsets.ts'

interface CommitListener {
  /** The partitions whose progress changed. */
  partitions(): Iterable<AssignedPartition>
  /** A commit is durable: announced attempts may begin. */
  committed(): void
  failed(error: Error): void
  works(): void
}

/** Settled records are committed within this time. */
const INTERVAL_MS = 100
const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 2_000

/**
 * Commits the progress of all partitions together, one commit at a time: the next one says everything that came meanwhile.
 * A record that waits until its attempt is announced is a demand, and is committed at once.
 */
export class Committer {
  readonly #cluster: Cluster
  readonly #settings: KafkaSettings
  readonly #group: string
  readonly #member: GroupMember
  readonly #listener: CommitListener
  #running: Promise<void> | undefined
  /** The commit that is on its way. */
  #sending: Promise<void> | undefined
  #isDemanded = false
  /** Work that goes on when the next commit is durable, or fails with the partition. */
  #waiting: { readonly partition: AssignedPartition; end(isDurable: boolean): void }[] = []
  #cancel: Cancel | undefined
  #isClosed = false

  constructor(
    cluster: Cluster,
    settings: KafkaSettings,
    group: string,
    member: GroupMember,
    listener: CommitListener,
  ) {
    this.#cluster = cluster
    this.#settings = settings
    this.#group = group
    this.#member = member
    this.#listener = listener
  }

  /** Something was settled. */
  soon(): void {
    if (this.#cancel !== undefined || this.#isClosed) return
    this.#cancel = this.#settings.clock.schedule(INTERVAL_MS, () => {
      this.#cancel = undefined
      this.#run()
    })
  }

  /** An attempt waits to be announced. */
  demand(partition: AssignedPartition): void {
    partition.isDirty = true
    this.#isDemanded = true
    this.#run()
  }

  /** Resolves with true when what the partition says now is durable; with false if the partition is not ours any more. */
  durable(partition: AssignedPartition): Promise<boolean> {
    return new Promise(end => {
      this.#waiting.push({ partition, end })
      this.demand(partition)
    })
  }

  /** The partitions are not ours any more. Nobody waits for their commits. */
  forget(): void {
    const lost = this.#waiting.filter(({ partition }) => !partition.isOurs)
    this.#waiting = this.#waiting.filter(({ partition }) => partition.isOurs)
    for (const { end } of lost) end(false)
  }

  /** The last commit of partitions that are leaving. It rejects if the server does not take it. */
  async finish(partitions: readonly AssignedPartition[]): Promise<void> {
    // Those after it leave these partitions out.
    await this.#sending?.catch(() => {})
    // Commits name topics, so that one of a deleted topic would replace that of the topic which has its name now.
    const ours = partitions.filter(({ isOurs, isOpen, isDeleted }) => isOurs && isOpen && !isDeleted)
    if (ours.length > 0)
      await this.#send(
        ours,
        ours.map(each => each.lastCommit()),
      )
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
    for (const { end } of this.#waiting) end(false)
    this.#waiting = []
  }

  #run(): void {
    this.#running ??= this.#loop().finally(() => {
      this.#running = undefined
      // A demand can come when the last commit is over and this is not known yet.
      if (this.#isDemanded && this.#changed().length > 0) this.#run()
    })
  }

  /** The partitions whose progress the next commit says. */
  #changed(): readonly AssignedPartition[] {
    if (this.#isClosed) return []
    return [...this.#listener.partitions()].filter(
      each => each.isDirty && each.isOurs && each.isOpen && !each.isLeaving,
    )
  }

  async #loop(): Promise<void> {
    const { clock, random } = this.#settings
    let restMs = FIRST_BACKOFF_MS
    // The demands of one turn go together.
    await Promise.resolve()
    for (;;) {
      const partitions = this.#changed()
      if (partitions.length === 0) break
      const wasDemanded = this.#isDemanded
      this.#isDemanded = false
      const waiting = this.#waiting.filter(({ partition }) => partitions.includes(partition))
      this.#waiting = this.#waiting.filter(({ partition }) => !partitions.includes(partition))
      for (const each of partitions) each.isDirty = false
      const commits = partitions.map(each => each.nextCommit())
      try {
        this.#sending = this.#send(partitions, commits)
        await this.#sending
        for (const [index, each] of commits.entries()) partitions[index]!.committed(each)
        for (const { partition, end } of waiting) end(partition.isOurs)
        restMs = FIRST_BACKOFF_MS
        this.#listener.works()
        this.#listener.committed()
        if (!this.#isDemanded) break
      } catch (error) {
        for (const each of partitions) each.isDirty = true
        this.#waiting = [...waiting, ...this.#waiting]
        this.#isDemanded ||= wasDemanded
        this.forget()
        if (this.#isClosed) break
        this.#listener.failed(explain(this.#cluster.servers, `commits of group '${this.#group}'`, error))
        await delay(clock, equalJitter(random, restMs))
        restMs = Math.min(MAX_BACKOFF_MS, restMs * 2)
      }
    }
    if ([...this.#listener.partitions()].some(({ isDirty }) => isDirty)) this.soon()
  }

  /**
   * The server accepts commits of a member in its current epoch only, and does not look whose partitions they are. A member
   * that was expelled and has joined again must not send what it knew before: others have gone on since.
   */
  async #send(partitions: readonly AssignedPartition[], commits: readonly PartitionCommit[]): Promise<void> {
    const member = this.#member
    for (let tries = 0; ; tries++) {
      const { id, epoch } = member
      if (epoch === 0 || partitions.some(({ isOurs }) => !isOurs))
        throw new Error('the group has expelled this member')
      try {
        await commit(this.#cluster, this.#group, { id, epoch }, commits)
        return
      } catch (error) {
        if (hasCode(error, CODE.unknownMember, CODE.fencedMemberEpoch)) member.expel()
        if (!hasCode(error, CODE.staleMemberEpoch) || tries > 3) throw error
        // A heartbeat has changed the epoch, or will.
        if (member.epoch === epoch) await member.refreshed()
      }
    }
  }
}
