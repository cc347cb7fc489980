import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { KeyLines } from '../../../../adapter-kit/ordered/key-lines.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { Fifo } from '../../../../core/fifo.ts'
import type { KafkaRecord } from '../../connection/records.ts'
import { TopicRecreatedError } from '../../errors.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { KafkaDelivery } from '../consume/delivery.ts'
import { type AssignedPartition, type Entry, newEntry } from '../consume/partition.ts'
import { topicTag } from '../topics/topic-tag.ts'
import { eventIdOf } from '../wire/event-codec.ts'
import { headerText, OWN } from '../wire/headers.ts'
import { heldMessage, resolvedRecord } from './held-record.ts'
import { type HeldEvent, HeldTopic } from './held-topic.ts'
import { HeldWriter } from './held-writer.ts'
import { LateStates } from './late-states.ts'
import { numberingFor } from './place-numbering.ts'
import { StrayReplays } from './stray-replays.ts'

interface OrderListener {
  /** The first of a line may be delivered. */
  add(entry: Entry): void
  changed(): void
  /** A record was settled. */
  settled(): void
  hasRoom(): void
  partition(topic: string, partition: number): AssignedPartition | undefined
  /** The partitions of all topics that have this number. */
  topics(partition: number): Iterable<AssignedPartition>
}

type Event = LineEvent<Entry>
type PartitionLines = KeyLines<Entry, Entry>

/** A held event whose turn has come. */
interface DueEvent {
  readonly event: Event
  readonly partition: AssignedPartition
  readonly lines: PartitionLines | undefined
}

/** From so many records on that wait in process, lines move to the held topic at once. So do they when they fill a part of the buffer. */
const STORE_AT = 1_000
const STORE_AT_SHARE = 0.25

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
  readonly #lines = new Map<number, PartitionLines>()
  /** Entries whose partition of the channel is not open yet. */
  readonly #early = new Map<number, Entry[]>()
  readonly #writer: HeldWriter
  readonly #late: LateStates
  readonly #strayReplays: StrayReplays
  /** Those that are not read from the held topic yet. There can be one for each key, so that few are read at a time. */
  readonly #due = new Fifo<DueEvent>()
  #reading = 0
  /** Those that were read and are not delivered. */
  readonly #read = new Set<Entry>()
  #isClosed = false

  constructor(context: SubscriptionContext, listener: OrderListener) {
    this.#context = context
    this.#listener = listener
    this.#held = new HeldTopic(context.cluster, context.producer, context.names)
    this.#writer = new HeldWriter(context, this.#held)
    this.#strayReplays = new StrayReplays(context)
    const channel = (partition: number) => listener.partition(context.names.channel, partition)!
    this.#late = new LateStates(context, this.#held, {
      partitions: () => this.#lines.keys(),
      topics: partition => listener.topics(partition),
      takes: (partition, late) => this.#takes(channel(partition), late),
      isDone: (partition, { heldKey }) =>
        void this.#writer.write(channel(partition), [resolvedRecord(heldKey)]),
      isHeld: (partition, late) => this.#lines.get(partition)?.open([this.#writer.held(partition, late)]),
    })
  }

  /** Called before the first record of a partition is read. */
  async opened(assigned: AssignedPartition): Promise<void> {
    const { topic, topicId, partition, orderLosses } = assigned
    if (topic !== this.#context.names.channel) return
    await this.#writer.written(partition)
    const held = await this.#held.read(partition)
    // The partition or its order was lost, and perhaps given to us again: its lines are not those of this reading.
    if (this.#listener.partition(topic, partition) !== assigned || assigned.orderLosses !== orderLosses)
      return
    this.#writer.numberPlaces(partition, numberingFor(topicId, held))
    const lines = this.#linesOf(assigned)
    this.#lines.set(partition, lines)
    this.#late.opened(partition, held)
    // The lines before were closed, and did not say that they have room again.
    assigned.isFull = false
    lines.open(held.map(each => this.#writer.held(partition, each)))
    const early = this.#early.get(partition) ?? []
    this.#early.delete(partition)
    for (const entry of early) if (entry.partition.isOurs) this.arrive(entry)
    this.#listener.changed()
  }

  /** The partitions are not ours any more. Answers with the numbers whose order is unknown now. */
  lost(partitions: readonly AssignedPartition[]): readonly number[] {
    const numbers = new Set(partitions.map(({ partition }) => partition))
    for (const number of numbers) {
      this.#lines.get(number)?.close()
      this.#lines.delete(number)
      this.#late.lost(number)
      this.#early.delete(number)
    }
    for (const entry of this.#read) if (numbers.has(entry.partition.partition)) this.#read.delete(entry)
    this.#readDue()
    return [...numbers]
  }

  close(): void {
    for (const lines of this.#lines.values()) lines.close()
    this.#late.close()
    this.#isClosed = true
  }

  /** Resolves when the held topic has everything that these partitions have to say. */
  async written(partitions: readonly AssignedPartition[]): Promise<void> {
    await Promise.all(partitions.map(({ partition }) => this.#writer.written(partition)))
  }

  /** Everything was read that was in the partition when it was opened. */
  caughtUp({ topic, partition }: AssignedPartition): void {
    if (topic !== this.#context.names.channel) return
    this.#lines.get(partition)?.completed()
  }

  #linesOf(channel: AssignedPartition): PartitionLines {
    const { topic, partition } = channel
    const { settings, stalls } = this.#context
    const { clock } = settings
    return new KeyLines(
      { clock, stalls, source: `topic '${topic}', partition ${partition}` },
      {
        ready: event => this.#offer(channel, event),
        woke: () => this.#listener.changed(),
        isComplete: () => channel.hasCaughtUp,
        resolve: event => this.#writer.write(channel, [resolvedRecord(event.heldKey)]),
        answered: request => {
          this.#settle(request)
          this.#listener.changed()
        },
        // Only the channel waits. Replays and requests resolve what the others wait for.
        full: isFull => {
          channel.isFull = isFull
          if (!isFull) this.#listener.hasRoom()
        },
        store: events => this.#store(channel, events),
        stored: ({ partition, record }) => {
          partition.lined--
          partition.bufferedBytes -= record.bytes
          partition.settle(record.offset)
        },
        madeRoom: () => {
          this.#listener.settled()
          this.#listener.hasRoom()
          this.#listener.changed()
        },
      },
    )
  }

  /** The time of an entry has come. It takes its place in its line. */
  arrive(entry: Entry): void {
    const { partition, record } = entry
    const line = this.#lineOf(record)
    const lines = this.#lines.get(partition.partition)
    // A record of the channel can be from anybody.
    const unblocked = partition.stepMs === 0 ? headerText(record.headers, OWN.unblockKey) : undefined
    if (entry.line !== undefined) {
      partition.lined++
      entry.line.state = 'ready'
      lines?.look(entry.line.line)
    } else if (line === undefined && unblocked === undefined) this.#listener.add(entry)
    else if (lines === undefined) {
      const early = this.#early.get(partition.partition) ?? []
      early.push(entry)
      this.#early.set(partition.partition, early)
    } else if (unblocked !== undefined) {
      partition.bufferedBytes -= record.bytes
      void lines.unblock(unblocked, entry)
    } else this.#stand(lines, line!, entry)
  }

  /** The entry is delivered. If it was a held event, the next one can be read. */
  delivered(entry: Entry): void {
    if (this.#read.delete(entry)) this.#readDue()
  }

  /** The attempts of a held event are counted in the held topic. */
  begin(delivery: KafkaDelivery): Promise<boolean> | undefined {
    const { entry, log } = delivery
    if (!entry.isHeld || entry.line === undefined) return undefined
    return this.#hold(delivery, entry.line, log, 0)
  }

  /** Undefined if there is nothing to wait for. */
  done(delivery: KafkaDelivery): Promise<boolean> | undefined {
    const unblocked = this.#strayReplays.done(delivery)
    if (unblocked === undefined) return this.#done(delivery.entry)
    return unblocked.then(isDurable => isDurable && (this.#done(delivery.entry) ?? true))
  }

  #done({ line: event, partition }: Entry): Promise<boolean> | undefined {
    if (event === undefined) return undefined
    if (event.heldAt === undefined) {
      this.#lines.get(partition.partition)?.remove(event)
      return undefined
    }
    return this.#writer.write(partition, [resolvedRecord(event.heldKey)]).then(isDurable => {
      if (isDurable) this.#lines.get(partition.partition)?.remove(event)
      return isDurable
    })
  }

  /** The event waits in the held topic, and its line behind it. Undefined if it stands in no line. */
  putBack(delivery: KafkaDelivery, log: AttemptLog, waitMs: number): Promise<boolean> | undefined {
    const { line: event, partition } = delivery.entry
    if (event === undefined) return undefined
    return this.#hold(delivery, event, log, waitMs).then(isDurable => {
      if (isDurable) this.#lines.get(partition.partition)?.wait(event, waitMs)
      return isDurable
    })
  }

  /** The event is dead and blocks its line. Undefined if it stands in no line. */
  dead(delivery: KafkaDelivery): Promise<boolean> | undefined {
    const { line: event, partition } = delivery.entry
    if (event === undefined) return undefined
    // Nobody could unblock the key: the letter and the line have different ids.
    if (delivery.event === undefined) return this.done(delivery)
    // The order was lost while the letter was written. The event is read again.
    if (this.#lines.get(partition.partition)?.get(event.heldKey) !== event) return Promise.resolve(false)
    return this.#writer
      .write(partition, [this.#writer.dead(partition.partition, event)], [event])
      .then(isDurable => {
        if (isDurable) this.#lines.get(partition.partition)?.die(event)
        return isDurable
      })
  }

  #stand(lines: PartitionLines, line: string, entry: Entry): void {
    const { partition, record } = entry
    const { topic, topicId } = partition
    const { names, settings, logOf } = this.#context
    const heldKey = `${topicTag(topicId)}:${record.offset}`
    const known = lines.get(heldKey)
    // It was written to the held topic, and its consumer died before the commit. It can be done by now.
    const isHeld = known?.heldAt !== undefined || this.#late.isInherited(partition.partition, heldKey)
    if (isHeld || known !== undefined) {
      partition.bufferedBytes -= record.bytes
      // Otherwise it was read twice.
      if (isHeld) this.#settle(entry)
      return
    }
    const { origin } = entry.log ?? logOf(record)
    const id = eventIdOf(record, this.#context.channel, origin)
    partition.lined++
    const place = topic === names.channel ? this.#writer.placeOf(record) : undefined
    const heldAt = this.#late.of(partition.partition, heldKey)
    lines.add(entry, { line, id, heldKey, place, heldAt })
    if (entry.line?.heldKey !== heldKey) this.#strayReplays.tookPlace(entry.line!)
    const isTooMuch = partition.bufferedBytes >= settings.bufferBytes * STORE_AT_SHARE
    if (partition.lined >= STORE_AT || isTooMuch) void lines.storeWaiting()
  }

  /** The first of a line is delivered. */
  #offer(partition: AssignedPartition, event: Event): void {
    event.state = 'offered'
    if (event.entry === undefined) {
      this.#due.push({ event, partition, lines: this.#lines.get(partition.partition) })
      this.#readDue()
    } else {
      if (!event.entry.isHeld) event.entry.partition.lined--
      this.#listener.add(event.entry)
    }
  }

  #settle({ partition, record }: Entry): void {
    partition.settle(record.offset)
    this.#listener.settled()
  }

  /** Reads held events, no more than may be delivered. */
  #readDue(): void {
    while (this.#due.size > 0 && this.#reading + this.#read.size < this.#context.prefetch) {
      this.#reading++
      void this.#readHeld(this.#due.shift()!).finally(() => {
        this.#reading--
        this.#readDue()
      })
    }
  }

  async #readHeld({ event, partition, lines }: DueEvent): Promise<void> {
    const { logOf, persist, stalls } = this.#context
    const number = partition.partition
    await persist(partition, 'deliveries', async () => {
      if (event.heldAt === undefined || this.#lines.get(number) !== lines) return
      const found = await this.#held.record(number, event.heldAt, event.heldKey)
      if (found === undefined) await this.#held.whenRecreated(number, () => this.#writeDead(partition))
      if (lines === undefined || this.#lines.get(number) !== lines) return
      if (found === undefined) {
        // Somebody has deleted it. Its record counts again, if it was not read yet.
        this.#late.forget(number, event.heldKey)
        lines.remove(event)
        stalls.removed(1, 0)
        this.#listener.changed()
        return
      }
      const record = heldMessage(found)
      const log = logOf(record)
      event.entry = { ...newEntry(partition, record), isHeld: true, known: log.log, log, line: event }
      partition.bufferedBytes += record.bytes
      this.#read.add(event.entry)
      this.#listener.add(event.entry)
      this.#listener.changed()
    })
  }

  /** The held topic was deleted and created again. This process still knows which keys are blocked, and the next owner must. */
  async #writeDead(partition: AssignedPartition): Promise<void> {
    const { stalls, names } = this.#context
    const error = new TopicRecreatedError(names.held)
    stalls.stalled('deliveries', error, error)
    stalls.ended('deliveries', error)
    const number = partition.partition
    const lines = this.#lines.get(number)
    const dead = [...(lines?.dead() ?? [])]
    if (lines === undefined || dead.length === 0) return
    const states = dead.map(event => this.#writer.dead(number, event))
    await this.#writer.write(partition, states, dead)
    // Keys that were unblocked meanwhile.
    const resolved = dead.filter(({ heldKey }) => lines.get(heldKey) === undefined)
    const ends = resolved.map(({ heldKey }) => resolvedRecord(heldKey))
    if (ends.length > 0) await this.#writer.write(partition, ends)
  }

  /** The events behind the first ones go to the held topic. */
  async #store(partition: AssignedPartition, events: readonly Event[]): Promise<boolean> {
    // The next owner reads them where they are.
    if (this.#isClosed || partition.isLeaving) return false
    const lines = this.#lines.get(partition.partition)
    const entries = events.map(({ entry }) => entry!)
    const records = events.map((event, index) => this.#writer.waiting(event, entries[index]!, undefined, 0))
    const isDurable = await this.#writer.write(partition, records, events)
    // The lines are closed, and the last commit must say that the events are held.
    if (isDurable && this.#isClosed && this.#lines.get(partition.partition) === lines)
      for (const entry of entries) this.#settle(entry)
    return isDurable
  }

  /** The late state of an event that stands in its line is now its latest one in the topic. */
  #takes(partition: AssignedPartition, { heldKey, state, offset }: HeldEvent): boolean {
    const number = partition.partition
    const lines = this.#lines.get(number)
    const event = lines?.get(heldKey)
    if (event === undefined) return false
    if (event.heldAt !== undefined && event.heldAt > offset) return true
    if (event.state === 'dead')
      void this.#writer.write(partition, [this.#writer.dead(number, event)], [event])
    else if (state === 'waiting' || event.entry !== undefined) event.heldAt = offset
    else if (event.state !== 'offered') {
      // Its letter exists.
      event.heldAt = offset
      lines!.die(event)
    }
    return true
  }

  #hold(delivery: KafkaDelivery, event: Event, log: AttemptLog, waitMs: number): Promise<boolean> {
    const { entry } = delivery
    return this.#writer.write(entry.partition, [this.#writer.waiting(event, entry, log, waitMs)], [event])
  }

  #lineOf({ key }: KafkaRecord): string | undefined {
    if (this.#context.settings.orderBy === 'partition') return ''
    return key?.toString('latin1')
  }
}
