import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { PendingWork } from '../../../../adapter-kit/pending-work.ts'
import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../../ports/broker.ts'
import { monotonicNow, settlesWithin, yieldToEventLoop } from '../../../../ports/clock.ts'
import type { FetchedRecords } from '../../connection/records.ts'
import { HeldRelease } from '../ordered/held-release.ts'
import { KeyOrder } from '../ordered/key-order.ts'
import { retryTopicFor } from '../topics/names.ts'
import { HeaderTexts, headerText, OWN } from '../wire/headers.ts'
import { type RecordLog, waitLeftMs } from '../wire/record-log.ts'
import { Assignment } from './assignment.ts'
import type { SubscriptionContext } from './context.ts'
import { KafkaDelivery } from './delivery.ts'
import { EntryQueue } from './entry-queue.ts'
import { type AssignedPartition, type Entry, newEntry } from './partition.ts'
import { Settler } from './settler.ts'

/** A release that ends within this waits in process: the event stays where it is. */
const IN_PROCESS_WAIT_MS = 1_000
const CLOSE_MS = 5_000
/** How long a rebalance waits for what is on its way to the held topic. The group waits longer. */
const WRITTEN_MS = 60_000
/** A wait that is longer than its topic goes on in process, unless this many do. */
const MAX_WAITING_ON = 500

/**
 * A subscription. Many records of a partition are open at a time; the window of the partition knows which of
 * them are settled. A record that was open when a consumer died is a suspect: it runs while nothing else does, so that the
 * next crash shows which record was to blame.
 */
export class KafkaSubscription implements Subscription {
  readonly #context: SubscriptionContext
  readonly #assignment: Assignment
  readonly #settler: Settler
  readonly #open = new Set<KafkaDelivery>()
  readonly #settling = new PendingWork()
  readonly #queue: EntryQueue
  /** Undefined if the order does not matter. */
  readonly #order: KeyOrder | undefined
  #openSuspect: KafkaDelivery | undefined
  readonly #drained = new Set<() => void>()
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  #closing: Promise<void> | undefined

  constructor(context: SubscriptionContext) {
    this.#context = context
    const { settings, names, isOrdered } = context
    this.#settler = new Settler(context)
    const release = new HeldRelease(context, this.#settler)
    const topics = [names.channel, names.again, ...names.retries.map(({ name }) => name)]
    this.#queue = new EntryQueue(settings.clock, () => this.#assignment.committer, {
      due: entry => this.#offer(entry),
      changed: () => this.#pump(),
      hasRoom: () => this.#assignment.fetch(),
      partitions: () => this.#assignment.partitions,
    })
    this.#assignment = new Assignment(context, topics, {
      received: (partition, fetched) => this.#received(partition, fetched),
      caughtUp: partition => this.#order?.caughtUp(partition),
      drain: partitions => this.#drain(partitions),
      lost: partitions => this.#lost(partitions),
      opened: partition => (this.#order ?? release).opened(partition),
      committed: () => this.#pump(),
      mayFetch: () => this.#mode === 'running',
    })
    if (isOrdered)
      this.#order = new KeyOrder(context, {
        add: entry => this.#queue.add(entry),
        changed: () => this.#pump(),
        settled: () => this.#assignment.committer.soon(),
        hasRoom: () => this.#assignment.fetch(),
        partition: (topic, partition) => this.#assignment.partition(topic, partition),
        topics: number => [...this.#assignment.partitions].filter(({ partition }) => partition === number),
      })
  }

  async open(): Promise<void> {
    await this.#assignment.join()
  }

  /** The subscriber knows of its subscription in the next turn; a delivery before that could not be settled. */
  start(): void {
    void yieldToEventLoop().then(() => {
      if (this.#mode === 'starting') this.resume()
    })
  }

  /** A commit has announced the attempt before the delivery. That a suspect runs is made durable here, because it runs alone. */
  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    if (!this.#holds(delivery)) return this.#rejectLost(delivery)
    delivery.recordEnds(ended)
    delivery.recordStart()
    const recorded =
      delivery === this.#openSuspect ? this.#recordSuspect(delivery) : this.#order?.begin(delivery)
    if (recorded !== undefined) return this.#unlessLost(delivery, recorded)
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    if (!this.#holds(delivery)) return this.#rejectLost(delivery)
    if (settlement.outcome === 'done' || (settlement.outcome === 'dead' && settlement.saved)) {
      const work = settlement.outcome === 'done' ? this.#order?.done(delivery) : this.#order?.dead(delivery)
      if (work !== undefined) return this.#during(delivery, work)
      this.#finish(delivery)
      this.#pump()
      return
    }
    const { clock } = this.#context.settings
    if (settlement.outcome === 'release') {
      const isStillSuspect = this.#isStillSuspect(delivery)
      delivery.takeBackStart()
      const waitMs = settlement.notBefore - clock.now()
      if (isStillSuspect || (waitMs <= IN_PROCESS_WAIT_MS && !delivery.entry.isHeld)) {
        this.#release(delivery, waitMs, isStillSuspect ? undefined : delivery.log)
        return
      }
    } else if (settlement.outcome === 'retry') delivery.recordEnds(settlement.ended)
    return this.#settleDurably(delivery, settlement)
  }

  pause(): void {
    if (this.#mode !== 'closed') this.#mode = 'paused'
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.#assignment.fetch()
    this.#pump()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close().finally(this.#context.forget)
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#mode = 'closed'
    this.#queue.close()
    this.#order?.close()
    const { clock } = this.#context.settings
    await settlesWithin(clock, CLOSE_MS, this.#settling.settled())
    const open = [...this.#open]
    this.#open.clear()
    const partitions = [...this.#assignment.partitions]
    await settlesWithin(clock, CLOSE_MS, this.#giveBack(partitions, open))
    await settlesWithin(clock, CLOSE_MS, this.#written(partitions))
    await settlesWithin(clock, CLOSE_MS, this.#assignment.close())
  }

  /**
   * Events whose attempts are known here alone are published again with them, and so are the open ones of a topic that was
   * deleted. The others stay where they are: without a settlement the next owner reads them.
   */
  async #giveBack(partitions: readonly AssignedPartition[], open: readonly KafkaDelivery[]): Promise<void> {
    const unopened = this.#queue.drop(partitions).map(entry => this.#deliveryOf(entry))
    const isAtRisk = ({ isChanged, entry }: KafkaDelivery) =>
      isChanged || entry.isHeld || entry.partition.isDeleted
    const changed = [...open.filter(isAtRisk), ...unopened]
    await Promise.allSettled(changed.map(delivery => this.#sendBack(delivery)))
  }

  async #sendBack(delivery: KafkaDelivery): Promise<void> {
    const { partition, record, dueAt, isHeld } = delivery.entry
    const waitMs = Math.max(0, dueAt - monotonicNow(this.#context.settings.clock))
    const held = this.#order?.putBack(delivery, delivery.log, waitMs)
    if (held === undefined) await this.#settler.send(partition, record, delivery.origin, delivery.log, waitMs)
    else if (!(await held)) return
    if (!isHeld) partition.settle(record.offset)
  }

  /** Another member gets the partitions. Running handlers may finish first. */
  async #drain(partitions: readonly AssignedPartition[]): Promise<void> {
    const { clock, drainMs } = this.#context.settings
    const isOpen = () => [...this.#open].some(({ entry }) => partitions.includes(entry.partition))
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = () => {
      if (!isOpen()) resolve()
    }
    this.#drained.add(look)
    look()
    await settlesWithin(clock, drainMs, promise)
    this.#drained.delete(look)
    await settlesWithin(clock, CLOSE_MS, this.#settling.settled())
    const open = [...this.#open].filter(({ entry }) => partitions.includes(entry.partition))
    for (const delivery of open) {
      this.#remove(delivery)
      // The handler goes on, which is not a crash.
      delivery.takeBackStart()
    }
    await settlesWithin(clock, CLOSE_MS, this.#giveBack(partitions, open))
    await settlesWithin(clock, WRITTEN_MS, this.#written(partitions))
  }

  async #written(partitions: readonly AssignedPartition[]): Promise<void> {
    await this.#order?.written(partitions)
  }

  #lost(partitions: readonly AssignedPartition[]): void {
    const numbers = this.#order?.lost(partitions) ?? []
    // Without the other topics of a partition its order is not known: they are read again.
    const rest = [...this.#assignment.partitions].filter(
      each => numbers.includes(each.partition) && !partitions.includes(each),
    )
    const all = [...partitions, ...rest]
    this.#queue.drop(all)
    for (const delivery of this.#open) if (all.includes(delivery.entry.partition)) this.#remove(delivery)
    for (const each of rest) {
      each.orderLosses++
      void this.#assignment.rewind(each)
    }
    this.#pump()
  }

  #received(partition: AssignedPartition, { records }: FetchedRecords): void {
    for (const record of records) {
      if (!partition.window.read(record.offset)) continue
      const mayUnblock = partition.stepMs === 0 && this.#order === undefined
      if (mayUnblock && headerText(record.headers, OWN.unblockKey) !== undefined) {
        partition.settle(record.offset)
        continue
      }
      partition.bufferedBytes += record.bytes
      const isSuspect = partition.window.isSuspect(record.offset)
      const entry = newEntry(partition, record, isSuspect)
      if (partition.stepMs !== undefined) entry.dueAt = this.#dueOf(entry, partition.stepMs)
      this.#offer(entry)
    }
    this.#pump()
  }

  /** When a record of a retry topic is to be looked at: at the end of its wait, or at that of its topic. */
  #dueOf(entry: Entry, stepMs: number): number {
    const { clock } = this.#context.settings
    const now = clock.now()
    const waitMs = waitLeftMs(this.#logOf(entry), now)
    const topicEndsMs = stepMs === 0 ? waitMs : entry.record.timestamp + stepMs - now
    return monotonicNow(clock) + Math.min(waitMs, topicEndsMs)
  }

  #logOf(entry: Entry): RecordLog {
    entry.log ??= this.#context.logOf(entry.record)
    return entry.log
  }

  #offer(entry: Entry): void {
    const { partition } = entry
    const { clock } = this.#context.settings
    if (entry.dueAt > 0 && entry.dueAt > monotonicNow(clock)) {
      this.#wait(entry)
      return
    }
    if (partition.stepMs !== undefined && partition.stepMs > 0 && entry.known === undefined) {
      const waitMs = waitLeftMs(this.#logOf(entry), clock.now())
      if (waitMs > 0) {
        this.#waitOn(entry, waitMs)
        return
      }
    }
    if (this.#order === undefined) this.#queue.add(entry)
    else this.#order.arrive(entry)
  }

  /** The log is read again when the wait is over: it takes more memory than the record, which alone counts as buffered. */
  #wait(entry: Entry): void {
    entry.log = undefined
    this.#queue.wait(entry)
  }

  /** The wait is longer than its topic. The rest is waited for in the next one, or here if it is short. */
  #waitOn(entry: Entry, waitMs: number): void {
    const { clock } = this.#context.settings
    const { names } = this.#context
    const isShort = retryTopicFor(names, waitMs) === names.again
    if (isShort && entry.partition.waiting.size < MAX_WAITING_ON) {
      entry.dueAt = monotonicNow(clock) + waitMs
      this.#wait(entry)
      return
    }
    entry.partition.bufferedBytes -= entry.record.bytes
    const delivery = this.#deliveryOf(entry)
    void this.#during(delivery, this.#settler.putBack(delivery, delivery.log, waitMs)).catch(() => {})
  }

  #pump(): void {
    while (this.#mode === 'running') {
      const running = this.#open.size + this.#settling.count
      if (this.#openSuspect !== undefined || running >= this.#context.prefetch) return
      const { hasSuspects } = this.#queue
      const entry = hasSuspects ? this.#queue.nextSuspect(running > 0) : this.#queue.next()
      if (entry === undefined) return
      const delivery = this.#deliveryOf(entry)
      if (hasSuspects) this.#openSuspect = delivery
      this.#open.add(delivery)
      this.#order?.delivered(entry)
      this.#context.deliver(delivery)
    }
  }

  #recordSuspect({ entry }: KafkaDelivery): Promise<boolean> {
    entry.partition.running = entry.record.offset
    return this.#assignment.committer.durable(entry.partition)
  }

  async #unlessLost(delivery: KafkaDelivery, recorded: Promise<boolean>): Promise<void> {
    if (!(await recorded)) await this.#rejectLost(delivery)
  }

  #deliveryOf(entry: Entry): KafkaDelivery {
    const { channel, logOf } = this.#context
    const { record, log } = entry
    const texts = new HeaderTexts(record)
    return new KafkaDelivery(entry, channel, texts, log ?? logOf(record, texts))
  }

  /**
   * No attempt of a suspect has begun here, as when a ledger still has the claim of the process that died. It waits where it
   * is: published again, it would no longer be a suspect, and its crashes would never count. One in a line is held, and the
   * crashes of held events are counted where they are held.
   */
  #isStillSuspect({ entry, isChanged }: KafkaDelivery): boolean {
    return entry.isSuspect && !isChanged && entry.line === undefined
  }

  #release(delivery: KafkaDelivery, waitMs: number, known: AttemptLog | undefined): void {
    const { entry } = delivery
    this.#remove(delivery)
    entry.known = known
    entry.partition.running = undefined
    entry.partition.bufferedBytes += entry.record.bytes
    entry.dueAt = monotonicNow(this.#context.settings.clock) + Math.max(0, waitMs)
    // A partition that is given back delivers nothing, and what is known of its entries is written.
    if (entry.partition.isLeaving) entry.partition.ready.push(entry)
    else this.#offer(entry)
    this.#pump()
  }

  async #settleDurably(
    delivery: KafkaDelivery,
    settlement: Exclude<Settlement, { outcome: 'done' }>,
  ): Promise<void> {
    const { clock } = this.#context.settings
    if (settlement.outcome === 'dead') {
      const kept = this.#settler.keepLetter(delivery, settlement.letter)
      await this.#during(
        delivery,
        kept.then(isKept => isKept && (this.#order?.dead(delivery) ?? true)),
      )
      return
    }
    const waitMs = settlement.notBefore - clock.now()
    const held = this.#order?.putBack(delivery, delivery.log, waitMs)
    await this.#during(delivery, held ?? this.#settler.putBack(delivery, delivery.log, waitMs))
  }

  /** A delivery that is being made durable cannot be settled again; its place is free when that is done. */
  async #during(delivery: KafkaDelivery, work: Promise<boolean>): Promise<void> {
    this.#open.delete(delivery)
    this.#settling.begin()
    try {
      if (await work) this.#finish(delivery)
      else {
        this.#remove(delivery)
        await this.#rejectLost(delivery)
      }
    } finally {
      this.#settling.end()
      this.#pump()
    }
  }

  /** It is settled, and the next commit says so. */
  #finish(delivery: KafkaDelivery): void {
    const { partition, record, isHeld } = delivery.entry
    this.#remove(delivery)
    if (isHeld) return
    if (partition.running === record.offset) partition.running = undefined
    partition.settle(record.offset)
    this.#assignment.committer.soon()
  }

  #remove(delivery: KafkaDelivery): void {
    this.#open.delete(delivery)
    if (this.#openSuspect === delivery) this.#openSuspect = undefined
    for (const look of this.#drained) look()
  }

  #holds(delivery: Delivery): delivery is KafkaDelivery {
    return this.#open.has(delivery as KafkaDelivery) && (delivery as KafkaDelivery).entry.partition.isOurs
  }

  #rejectLost(delivery: Delivery): Promise<void> {
    return Promise.reject(new DeliveryLostError(this.#context.settings.name, delivery.channel))
  }
}
