import { WakeTimer } from '../../../../adapter-kit/wake-timer.ts'
import { type Cancel, type Clock, monotonicNow } from '../../../../ports/clock.ts'
import type { Committer } from '../group/committer.ts'
import { type AssignedPartition, type Entry, isKnownHereAlone } from './partition.ts'

interface QueueListener {
  /** The wait of an entry is over. */
  due(entry: Entry): void
  /** There may be more to deliver. */
  changed(): void
  /** A partition has room for more records. */
  hasRoom(): void
  partitions(): Iterable<AssignedPartition>
}

/** A slow handler must not keep the suspects of a crash waiting without limit. */
const MAX_DRAINING_MS = 5_000

/**
 * The entries of all partitions that are to be delivered. Partitions take turns. Suspects come first and one at a time,
 * while nothing else runs.
 */
export class EntryQueue {
  readonly #clock: Clock
  readonly #committer: () => Committer
  readonly #listener: QueueListener
  #ready: AssignedPartition[] = []
  #suspects: Entry[] = []
  #mustRunSuspect = false
  #cancelDraining: Cancel | undefined
  readonly #timer: WakeTimer

  constructor(clock: Clock, committer: () => Committer, listener: QueueListener) {
    this.#clock = clock
    this.#committer = committer
    this.#listener = listener
    this.#timer = new WakeTimer(clock, () => this.#offerDue())
  }

  get hasSuspects(): boolean {
    return this.#suspects.some(mayRun)
  }

  /** The entry may be delivered when it is its turn. */
  add(entry: Entry): void {
    const { partition } = entry
    if (entry.isSuspect) this.#suspects.push(entry)
    else {
      if (partition.ready.size === 0) this.#ready.push(partition)
      partition.ready.push(entry)
    }
  }

  /** The entry waits until it is due. */
  wait(entry: Entry): void {
    entry.partition.waiting.push(entry)
    this.#timer.wakeAt(entry.dueAt)
  }

  /** The next entry whose attempt is announced. Its partition goes to the end of the line. */
  next(): Entry | undefined {
    for (let left = this.#ready.length; left > 0; left--) {
      const partition = this.#ready.shift()!
      const entry = partition.isOurs && !partition.isLeaving ? partition.ready.first : undefined
      if (entry === undefined) continue
      if (!partition.mayBegin(entry)) {
        this.#ready.push(partition)
        partition.announceAtLeast(entry.record.offset)
        this.#committer().demand(partition)
        continue
      }
      partition.ready.shift()
      if (partition.ready.size > 0) this.#ready.push(partition)
      partition.handOut(entry)
      if (partition.isNearlyUsedUp) this.#committer().demand(partition)
      if (partition.isTimeToRead) this.#listener.hasRoom()
      return entry
    }
    return undefined
  }

  /** The next suspect, if it may run: when nothing else does, or when that took too long. */
  nextSuspect(isBusy: boolean): Entry | undefined {
    if (isBusy && !this.#mustRunSuspect) {
      this.#cancelDraining ??= this.#clock.schedule(MAX_DRAINING_MS, () => {
        this.#mustRunSuspect = true
        this.#listener.changed()
      })
      return undefined
    }
    this.#cancelDraining?.()
    this.#cancelDraining = undefined
    this.#mustRunSuspect = false
    const at = this.#suspects.findIndex(mayRun)
    if (at === -1) return undefined
    const [entry] = this.#suspects.splice(at, 1)
    entry!.partition.handOut(entry!)
    return entry
  }

  /** Forgets the entries of partitions. Answers with those that this process knows more of than the server. */
  drop(partitions: readonly AssignedPartition[]): readonly Entry[] {
    const suspects = this.#suspects.filter(({ partition }) => partitions.includes(partition))
    this.#suspects = this.#suspects.filter(({ partition }) => !partitions.includes(partition))
    this.#ready = this.#ready.filter(each => !partitions.includes(each))
    return [...partitions.flatMap(each => each.drop()), ...suspects.filter(isKnownHereAlone)]
  }

  close(): void {
    this.#cancelDraining?.()
    this.#timer.close()
  }

  #offerDue(): void {
    const now = monotonicNow(this.#clock)
    for (const partition of this.#listener.partitions())
      for (let { first } = partition.waiting; first !== undefined; first = partition.waiting.first) {
        if (first.dueAt > now) {
          this.#timer.wakeAt(first.dueAt)
          break
        }
        partition.waiting.shift()
        this.#listener.due(first)
      }
    this.#listener.hasRoom()
    this.#listener.changed()
  }
}

/** No commit says that an attempt of a partition has begun that is being given back. */
function mayRun({ partition }: Entry): boolean {
  return !partition.isLeaving
}
