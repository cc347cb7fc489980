import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { Fifo } from '../../../../core/fifo.ts'
import { Heap } from '../../../../core/heap.ts'
import type { KafkaRecord } from '../../connection/records.ts'
import type { TopicPartition } from '../group/member.ts'
import { OffsetWindow } from '../group/offset-window.ts'
import type { PartitionCommit } from '../group/offsets.ts'
import { type Progress, progressAt } from '../group/progress.ts'
import type { RecordLog } from '../wire/record-log.ts'
import type { FailureCount } from './failure-count.ts'

/** A record that was read and is not settled. */
export interface Entry {
  readonly partition: AssignedPartition
  readonly record: KafkaRecord
  /** It was open when a consumer died: it runs alone. */
  readonly isSuspect: boolean
  /** It came from the held topic. Its attempts are counted there, and no offset of the partition is settled with it. */
  readonly isHeld: boolean
  /** Its place in the line of its key, if the order is kept. */
  line: LineEvent<Entry> | undefined
  /** What this process knows of its attempts and the record does not say. */
  known: AttemptLog | undefined
  /** The log of the record, if it was read before the delivery: to parse it costs more than to keep it. */
  log: RecordLog | undefined
  /** When it may be delivered, by a monotonic clock. */
  dueAt: number
}

export function newEntry(partition: AssignedPartition, record: KafkaRecord, isSuspect = false): Entry {
  return {
    partition,
    record,
    isSuspect,
    isHeld: false,
    line: undefined,
    known: undefined,
    log: undefined,
    dueAt: 0,
  }
}

/**
 * How many attempts may begin before the next commit says that they have. After a crash all of them are suspects, so that
 * it is as low as the throughput allows.
 */
const MIN_AHEAD = 16
const MAX_AHEAD = 2_000
/** It falls slowly, because records come in bursts. */
const KEPT_AHEAD = 0.75
/** So many times what begins during a commit is enough, because the next commit is written early. */
const AHEAD_OF_COMMIT = 3
/** A partition with a long lag needs its full number soon. */
const GROWTH = 4
/** The next commit is written when no more than this share of the announced attempts is left. On a busy cluster it takes long. */
const LEFT_AT_COMMIT = 0.75
/** Below this a partition is read on. */
const LOW_RECORDS = 500
/** The most records of a retry topic that a consumer keeps while they wait. */
const MAX_WAITING = 1_000
/** The most records that wait for others of their key before the partition is not read on. */
const MAX_LINED = 2_000
/** Whether there is room is looked at for one record in so many. */
const LOOK_EVERY = 64

/** A partition that the group has given to this subscription. */
export class AssignedPartition {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  /** The delay of its retry topic; undefined for the topic of the channel. */
  readonly stepMs: number | undefined
  readonly ready = new Fifo<Entry>()
  waiting = new Heap<Entry>(isDueBefore)
  window = new OffsetWindow(progressAt(0))
  /** False when another consumer may have it. Nothing of it can be settled then. */
  isOurs = true
  /** It is being given back: nothing more of it is delivered. */
  isLeaving = false
  /** Its topic was deleted, and perhaps created again: nobody can read its records any more. */
  isDeleted = false
  /** Its progress is known, and records can be read. */
  isOpen = false
  isFetching = false
  /** The offset after the last record that could be read when it was last read. */
  readableTo = 0
  /** Not read before this time, by a monotonic clock. */
  restUntil = 0
  /** How often in a row it could not be read; undefined if it always could. */
  failures: FailureCount | undefined
  bufferedBytes = 0
  /** Records that wait for others of their key, and are in this process alone. */
  lined = 0
  /** How often the order of its keys was lost while it was ours. */
  orderLosses = 0
  /** Too much of it waits for other events. */
  isFull = false
  /** The suspect that runs, which the next commit says. */
  running: number | undefined
  /** Something is settled that no commit says. */
  isDirty = false
  #begunTo = 0
  #begun = 0
  #ahead = MIN_AHEAD
  #hadToWait = false
  #begunDuringCommit = 0
  #durableUpTo = 0
  /** The end of the partition when it was opened; undefined until it is known. */
  #firstEnd: number | undefined

  constructor({ topic, topicId, partition }: TopicPartition, stepMs: number | undefined) {
    this.topic = topic
    this.topicId = topicId
    this.partition = partition
    this.stepMs = stepMs
  }

  /** `end` is where the partition ends; without it, the first answer says it. */
  open(progress: Progress, end?: number): void {
    this.window = new OffsetWindow(progress)
    this.#begunTo = this.#durableUpTo = progress.position
    this.#firstEnd = undefined
    if (end !== undefined) this.ends(end)
    this.isOpen = true
  }

  /** Where the partition ends, by an answer. The first one counts. */
  ends(end: number): void {
    if (this.#firstEnd !== undefined) return
    this.#firstEnd = end
    this.window.limitSuspects(end)
  }

  /** The end of everything that was read, or was there when it was opened. */
  get knownEnd(): number {
    return Math.max(this.#firstEnd ?? 0, this.window.readTo)
  }

  /** Everything was read that was there when it was opened, and so everything that an earlier owner has read. */
  get hasCaughtUp(): boolean {
    return this.isOpen && this.#firstEnd !== undefined && this.window.readTo >= this.#firstEnd
  }

  /** Whether an attempt may begin: a commit has said that it might have. */
  mayBegin({ record, isHeld }: Entry): boolean {
    return isHeld || record.offset < this.#durableUpTo
  }

  /** An attempt may begin from now on. */
  handOut({ record, isHeld }: Entry): void {
    this.bufferedBytes -= record.bytes
    if (isHeld) return
    this.#begunTo = Math.max(this.#begunTo, record.offset + 1)
    this.#begun++
  }

  /** The next commit should come before the announced attempts are used up. */
  get isNearlyUsedUp(): boolean {
    return this.#begunTo + this.#ahead * LEFT_AT_COMMIT > this.#durableUpTo
  }

  /** A commit is needed although nothing is settled: a record waits for it. */
  announceAtLeast(offset: number): void {
    this.#begunTo = Math.max(this.#begunTo, offset)
    this.#hadToWait = true
  }

  settle(offset: number): void {
    this.window.settle(offset)
    this.isDirty = true
  }

  /** Announces more attempts if one had to wait, and else as many as begin while a commit is on its way. */
  nextCommit(): PartitionCommit {
    const wanted = this.#hadToWait
      ? GROWTH * this.#ahead
      : Math.max(AHEAD_OF_COMMIT * this.#begunDuringCommit, this.#ahead * KEPT_AHEAD)
    this.#hadToWait = false
    this.#ahead = Math.min(MAX_AHEAD, Math.max(MIN_AHEAD, Math.ceil(wanted)))
    this.#begun = 0
    const { topic, topicId, partition } = this
    const progress = this.window.progress(this.#begunTo + this.#ahead, this.running)
    // It may announce less than the one before, and replaces it.
    this.#durableUpTo = Math.min(this.#durableUpTo, progress.upTo)
    return { topic, topicId, partition, progress }
  }

  /** Nothing of it is open any more, so that nothing is suspected after this commit. */
  lastCommit(): PartitionCommit {
    const { topic, topicId, partition, window } = this
    return { topic, topicId, partition, progress: window.progress(window.position, undefined) }
  }

  committed({ progress }: PartitionCommit): void {
    this.#durableUpTo = Math.max(this.#durableUpTo, progress.upTo)
    this.#begunDuringCommit = this.#begun
  }

  get wantsRecords(): boolean {
    return (
      this.isOurs &&
      this.isOpen &&
      !this.isLeaving &&
      !this.isFetching &&
      !this.isFull &&
      this.ready.size < LOW_RECORDS &&
      this.lined < MAX_LINED &&
      this.waiting.size < MAX_WAITING
    )
  }

  /** Whether it should be read on, for one record in so many and for the last: to look at all partitions costs more than a record. */
  get isTimeToRead(): boolean {
    return this.ready.size % LOOK_EVERY === 0 && this.wantsRecords
  }

  /** Forgets what was read and not delivered. Answers with what this process knows more of than the server. */
  drop(): readonly Entry[] {
    const known = [...this.ready.drain(), ...this.waiting].filter(isKnownHereAlone)
    this.waiting = new Heap<Entry>(isDueBefore)
    this.bufferedBytes = 0
    this.lined = 0
    return known
  }
}

/** Attempts of a held event are in the held topic. */
export function isKnownHereAlone({ known, isHeld }: Entry): boolean {
  return known !== undefined && !isHeld
}

/** Orders what waits by the time at which it may be delivered. */
function isDueBefore(a: { readonly dueAt: number }, b: { readonly dueAt: number }): boolean {
  return a.dueAt < b.dueAt
}
