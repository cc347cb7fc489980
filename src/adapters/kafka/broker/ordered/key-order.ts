import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { type LineEvent, Lines } from '../../../../adapter-kit/ordered/lines.ts'
import { spillable } from '../../../../adapter-kit/ordered/spill.ts'
import { WakeTimer } from '../../../../adapter-kit/wake-timer.ts'
import { Heap } from '../../../../core/heap.ts'
import { type Cancel, monotonicNow } from '../../../../ports/clock.ts'
import type { KafkaRecord } from '../../connection/records.ts'
import { TooManyHeldError } from '../../errors.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { KafkaDelivery } from '../consume/delivery.ts'
import { type AssignedPartition, type Entry, isDueBefore } from '../consume/partition.ts'
import { eventIdOf } from '../wire/event-codec.ts'
import { headerText, OWN } from '../wire/headers.ts'
import { readLog } from '../wire/record-log.ts'
import { deadRecord, heldMessage, resolvedRecord } from './held-record.ts'
import { HeldTopic } from './held-topic.ts'
import { HeldWriter } from './held-writer.ts'
import { UnblockRequests } from './unblock-requests.ts'

interface OrderListener {
  /** The first of a line may be delivered. */
  add(entry: Entry): void
  changed(): void
  /** A record was settled. */
  settled(): void
  hasRoom(): void
  partition(topic: string, partition: number): AssignedPartition | undefined
}

type Event = LineEvent<Entry>

/** From so many records on that wait in process, lines move to the held topic. So do they when they fill a part of the buffer. */
const SPILL_AT = 1_000
const SPILL_AT_SHARE = 0.25
/** After this time they move in any case: the retention of the channel would remove what waits for a blocked key. */
const SPILL_AFTER_MS = 10_000
/** The most events of a partition that may wait for others: their states are kept in memory. */
const MAX_HELD = 100_000

/**
 * Keeps the order of keys. Each key of a partition has a line, and only its first event is delivered. A first event that
 * cannot be handled now, and a dead-lettered one, are written to the held topic. The events behind stay where they are, in
 * the topic of the channel, until too many of them wait: then they are written to the held topic too. A new owner of the
 * partition reads the held topic before anything else, so that it knows who stands in front.
 */
export class KeyOrder {
  readonly #context: SubscriptionContext
  readonly #listener: OrderListener
  readonly #held: HeldTopic
  readonly #lines = new Map<number, Lines<Entry>>()
  /** Entries whose partition of the channel is not open yet. */
  readonly #early = new Map<number, Entry[]>()
  readonly #writer: HeldWriter
  readonly #requests = new UnblockRequests<Entry>()
  readonly #spilling = new Set<number>()
  readonly #waiting = new Heap<Event>(isDueBefore)
  readonly #timer: WakeTimer
  #cancelSpill: Cancel | undefined
  #isClosed = false

  constructor(context: SubscriptionContext, listener: OrderListener) {
    this.#context = context
    this.#listener = listener
    this.#held = new HeldTopic(context.cluster, context.producer, context.names)
    this.#writer = new HeldWriter(context, this.#held)
    this.#timer = new WakeTimer(context.settings.clock, () => this.#wake())
  }

  /** Called before the first record of a partition is read. */
  async opened(assigned: AssignedPartition): Promise<void> {
    const { topic, partition } = assigned
    if (topic !== this.#context.names.channel) return
    await this.#writer.written(partition)
    const lines = new Lines<Entry>()
    const { clock } = this.#context.settings
    for (const { heldKey, offset, state, line, place, id, notBefore } of await this.#held.read(partition)) {
      const dueAt = monotonicNow(clock) + Math.max(0, notBefore - clock.now())
      const event: Event = { line, id, heldKey, place, state, entry: undefined, heldAt: offset, dueAt }
      lines.add(event)
    }
    // The partition was lost, and perhaps given to us again: its lines are not those of this reading.
    if (this.#listener.partition(topic, partition) !== assigned) return
    this.#lines.set(partition, lines)
    for (const [first] of lines.all()) this.#look(partition, first!.line)
    const early = this.#early.get(partition) ?? []
    this.#early.delete(partition)
    for (const entry of early) if (entry.partition.isOurs) this.arrive(entry)
    this.#listener.changed()
  }

  /** The partitions are not ours any more. Answers with the numbers whose order is unknown now. */
  lost(partitions: readonly AssignedPartition[]): readonly number[] {
    const numbers = new Set(partitions.map(({ partition }) => partition))
    for (const number of numbers) {
      this.#lines.delete(number)
      this.#early.delete(number)
      this.#requests.forget(number)
    }
    return [...numbers]
  }

  close(): void {
    this.#timer.close()
    this.#cancelSpill?.()
    this.#isClosed = true
  }

  /** Resolves when the held topic has everything that these partitions have to say. */
  async written(partitions: readonly AssignedPartition[]): Promise<void> {
    await Promise.all(partitions.map(({ partition }) => this.#writer.written(partition)))
  }

  /** Everything was read that was in the partition when it was opened. */
  caughtUp({ topic, partition }: AssignedPartition): void {
    if (topic !== this.#context.names.channel) return
    for (const id of this.#requests.ids(partition)) this.#answer(partition, id)
  }

  /** The time of an entry has come. It takes its place in its line. */
  arrive(entry: Entry): void {
    const { partition, record } = entry
    const line = this.#lineOf(record)
    const lines = this.#lines.get(partition.partition)
    const unblocked = headerText(record.headers, OWN.unblockKey)
    if (entry.line !== undefined) {
      partition.lined++
      this.#ready(partition.partition, entry.line)
    } else if (line === undefined && unblocked === undefined) this.#listener.add(entry)
    else if (lines === undefined) {
      const early = this.#early.get(partition.partition) ?? []
      early.push(entry)
      this.#early.set(partition.partition, early)
    } else if (unblocked !== undefined) {
      partition.bufferedBytes -= record.bytes
      void this.#unblock(lines, entry, unblocked)
    } else this.#stand(lines, line!, entry)
  }

  /** The dead-lettered event of this id is resolved. The request is settled when that is durable. */
  async #unblock(lines: Lines<Entry>, request: Entry, id: string): Promise<void> {
    const { partition, record } = request
    const event = lines.dead(id)
    if (event !== undefined) {
      if (!(await this.#writer.write(partition, [resolvedRecord(event.heldKey)]))) return
      if (event.state === 'dead') this.#remove(partition.partition, event)
    } else if (this.#canDie(lines, partition.partition, id)) {
      this.#requests.add(partition.partition, id, request)
      return
    }
    partition.settle(record.offset)
    this.#listener.settled()
    this.#listener.changed()
  }

  /** What an earlier owner began may not have been read again yet, or stand behind an event whose commit was lost. */
  #canDie(lines: Lines<Entry>, partition: number, id: string): boolean {
    const channel = this.#listener.partition(this.#context.names.channel, partition)
    return channel?.hasCaughtUp !== true || lines.knows(id)
  }

  /** Requests that came early are looked at again. */
  #answer(partition: number, id: string): void {
    const lines = this.#lines.get(partition)
    if (lines !== undefined)
      for (const request of this.#requests.take(partition, id)) void this.#unblock(lines, request, id)
  }

  /** The attempts of a held event are counted in the held topic. */
  begin(delivery: KafkaDelivery): Promise<boolean> | undefined {
    const { entry, log } = delivery
    if (!entry.isHeld || entry.line === undefined) return undefined
    return this.#hold(delivery, entry.line, log, 0)
  }

  /** Undefined if there is nothing to wait for. */
  done({ entry }: KafkaDelivery): Promise<boolean> | undefined {
    const { line: event, partition } = entry
    if (event === undefined) return undefined
    if (event.heldAt === undefined) {
      this.#remove(partition.partition, event)
      return undefined
    }
    return this.#writer.write(partition, [resolvedRecord(event.heldKey)]).then(isDurable => {
      if (isDurable) this.#remove(partition.partition, event)
      return isDurable
    })
  }

  /** The event waits in the held topic, and its line behind it. Undefined if it stands in no line. */
  putBack(delivery: KafkaDelivery, log: AttemptLog, waitMs: number): Promise<boolean> | undefined {
    const { line: event, partition } = delivery.entry
    if (event === undefined) return undefined
    return this.#hold(delivery, event, log, waitMs).then(isDurable => {
      if (!isDurable) return false
      event.entry = undefined
      event.dueAt = monotonicNow(this.#context.settings.clock) + Math.max(0, waitMs)
      this.#lines.get(partition.partition)?.become(event, 'waiting')
      this.#look(partition.partition, event.line)
      return true
    })
  }

  /** The event is dead and blocks its line. Undefined if it stands in no line. */
  dead({ entry }: KafkaDelivery): Promise<boolean> | undefined {
    const { line: event, partition } = entry
    if (event === undefined) return undefined
    return this.#writer.write(partition, [deadRecord(event.heldKey, event)], [event]).then(isDurable => {
      if (!isDurable) return false
      event.entry = undefined
      const lines = this.#lines.get(partition.partition)
      lines?.become(event, 'dead')
      // A replay can come before the death is on record: the letter is written first.
      const twin = lines?.twin(event)
      if (twin?.state === 'ready' && twin.entry !== undefined && twin.heldAt === undefined) {
        lines!.remove(twin)
        this.#takePlace(lines!, event, twin.entry)
        this.#look(partition.partition, event.line)
      }
      this.#answer(partition.partition, event.id)
      return true
    })
  }

  #stand(lines: Lines<Entry>, line: string, entry: Entry): void {
    const { partition, record } = entry
    const { topic, topicId } = partition
    const { names, settings } = this.#context
    const heldKey = `${topicId.slice(0, 8)}:${record.offset}`
    // It was written to the held topic, and its consumer died before the commit.
    if (lines.has(heldKey)) {
      partition.settle(record.offset)
      partition.bufferedBytes -= record.bytes
      this.#listener.settled()
      return
    }
    const id = eventIdOf(
      record,
      this.#context.channel,
      readLog(settings.name, record, settings.clock.now()).origin,
    )
    const dead = lines.dead(id)
    if (dead !== undefined && dead.line === line) {
      this.#takePlace(lines, dead, entry)
    } else {
      const place = topic === names.channel ? record.offset : lines.lastPlace
      entry.line = { line, id, heldKey, place, state: 'ready', entry, heldAt: undefined, dueAt: 0 }
      lines.add(entry.line)
    }
    partition.lined++
    this.#look(partition.partition, line)
    const isTooMuch = partition.bufferedBytes >= settings.bufferBytes * SPILL_AT_SHARE
    if (partition.lined >= SPILL_AT || isTooMuch) void this.#spill(partition)
    if (partition.lined > 0) this.#spillLater()
    this.#checkSize(partition, lines)
  }

  /** Published again, an event takes the place of its death. */
  #takePlace(lines: Lines<Entry>, dead: Event, entry: Entry): void {
    dead.entry = entry
    entry.line = dead
    lines.become(dead, 'ready')
  }

  #ready(partition: number, event: Event): void {
    this.#lines.get(partition)?.become(event, 'ready')
    this.#look(partition, event.line)
  }

  /** The first of a line is delivered when it may be. */
  #look(partition: number, line: string): void {
    const first = this.#lines.get(partition)?.first(line)
    if (first === undefined) return
    if (first.state === 'waiting') {
      if (first.dueAt > monotonicNow(this.#context.settings.clock)) {
        this.#waiting.push(first)
        this.#timer.wakeAt(first.dueAt)
        return
      }
      this.#lines.get(partition)?.become(first, 'ready')
    }
    if (first.state !== 'ready') return
    this.#lines.get(partition)?.become(first, 'offered')
    if (first.entry === undefined) void this.#load(partition, first)
    else {
      if (!first.entry.isHeld) first.entry.partition.lined--
      this.#listener.add(first.entry)
    }
  }

  #wake(): void {
    const now = monotonicNow(this.#context.settings.clock)
    for (let next = this.#waiting.first; next !== undefined; next = this.#waiting.first) {
      if (next.dueAt > now) {
        this.#timer.wakeAt(next.dueAt)
        break
      }
      const { line } = this.#waiting.shift()!
      for (const partition of this.#lines.keys()) this.#look(partition, line)
    }
    this.#listener.changed()
  }

  /** Brings the record of a held event, which is first in its line. */
  async #load(number: number, event: Event): Promise<void> {
    const { names, settings, persist } = this.#context
    const lines = this.#lines.get(number)
    const partition = this.#listener.partition(names.channel, number)
    if (partition === undefined) return
    await persist(partition, 'deliveries', async () => {
      if (event.heldAt === undefined || this.#lines.get(number) !== lines) return
      const record = heldMessage(await this.#held.record(number, event.heldAt))
      if (this.#lines.get(number) !== lines) return
      const { log } = readLog(settings.name, record, settings.clock.now())
      event.entry = { partition, record, isSuspect: false, isHeld: true, known: log, dueAt: 0, line: event }
      partition.bufferedBytes += record.bytes
      this.#listener.add(event.entry)
      this.#listener.changed()
    })
  }

  #remove(partition: number, event: Event): void {
    this.#lines.get(partition)?.remove(event)
    this.#answer(partition, event.id)
    this.#look(partition, event.line)
    const channel = this.#listener.partition(this.#context.names.channel, partition)
    const lines = this.#lines.get(partition)
    if (channel !== undefined && lines !== undefined) this.#checkSize(channel, lines)
  }

  #spillLater(): void {
    if (this.#isClosed) return
    this.#cancelSpill ??= this.#context.settings.clock.schedule(SPILL_AFTER_MS, () => {
      this.#cancelSpill = undefined
      for (const number of this.#lines.keys()) {
        const partition = this.#listener.partition(this.#context.names.channel, number)
        if (partition === undefined || partition.lined === 0) continue
        void this.#spill(partition)
        this.#spillLater()
      }
    })
  }

  /** Makes room: the events behind the first ones go to the held topic, and the partition is read on. */
  async #spill(partition: AssignedPartition): Promise<void> {
    const lines = this.#lines.get(partition.partition)
    if (lines === undefined || this.#spilling.has(partition.partition)) return
    // The next owner reads them where they are.
    if (this.#isClosed || partition.isLeaving) return
    this.#spilling.add(partition.partition)
    try {
      const moving = spillable(lines)
      for (const event of moving) event.state = 'moving'
      const records = moving.map(event => this.#writer.waiting(event, event.entry!, undefined, 0))
      const isDurable = moving.length > 0 && (await this.#writer.write(partition, records, moving))
      for (const event of moving) {
        const entry = event.entry!
        event.state = 'ready'
        if (!isDurable) continue
        event.entry = undefined
        entry.partition.lined--
        entry.partition.bufferedBytes -= entry.record.bytes
        entry.partition.settle(entry.record.offset)
      }
      this.#listener.settled()
      for (const { line } of moving) this.#look(partition.partition, line)
      this.#listener.hasRoom()
      this.#listener.changed()
    } finally {
      this.#spilling.delete(partition.partition)
    }
  }

  #hold(delivery: KafkaDelivery, event: Event, log: AttemptLog, waitMs: number): Promise<boolean> {
    const { entry } = delivery
    return this.#writer.write(entry.partition, [this.#writer.waiting(event, entry, log, waitMs)], [event])
  }

  #lineOf({ key }: KafkaRecord): string | undefined {
    if (this.#context.settings.orderBy === 'partition') return ''
    return key?.toString('latin1')
  }

  #checkSize(partition: AssignedPartition, lines: Lines<Entry>): void {
    const isFull = lines.size >= MAX_HELD
    if (isFull === partition.isFull) return
    partition.isFull = isFull
    const { stalls } = this.#context
    if (isFull)
      stalls.stalled(
        'deliveries',
        lines,
        new TooManyHeldError(partition.topic, partition.partition, MAX_HELD),
      )
    else {
      stalls.gaveUp('deliveries', lines)
      this.#listener.hasRoom()
    }
  }
}
