import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { endOfWait } from '../../../../adapter-kit/ordered/end-of-wait.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { PendingWork } from '../../../../adapter-kit/pending-work.ts'
import type { KafkaRecord } from '../../connection/records.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { AssignedPartition, Entry } from '../consume/partition.ts'
import type { EventRecord } from '../wire/event-codec.ts'
import { deadRecord, waitingRecord } from './held-record.ts'
import type { HeldEvent, HeldTopic } from './held-topic.ts'
import { type PlaceNumbering, placeIn } from './place-numbering.ts'

/** Writes the states of events to the held topic, for as long as their partition is ours. */
export class HeldWriter {
  readonly #context: SubscriptionContext
  readonly #held: HeldTopic
  readonly #writes = new Map<number, PendingWork>()
  /** The numbering of places in each partition. */
  readonly #numberings = new Map<number, PlaceNumbering>()

  constructor(context: SubscriptionContext, held: HeldTopic) {
    this.#context = context
    this.#held = held
  }

  /**
   * Resolves when nothing of the partition is on its way to the held topic. An owner of the partition reads the topic once.
   * A state that came later would be found by the owner after it, and would bring back an event that is done.
   */
  async written(partition: number): Promise<void> {
    await this.#writes.get(partition)?.settled()
  }

  /** From now on the places of events in this partition are numbered so. */
  numberPlaces(partition: number, numbering: PlaceNumbering): void {
    this.#numberings.set(partition, numbering)
  }

  /** The place of a record of the channel. */
  placeOf({ partition, offset }: KafkaRecord): number {
    return this.#numberingOf(partition).firstPlace + offset
  }

  /** An event in its line, by what the topic says about it. */
  held(partition: number, stored: HeldEvent): LineEvent<Entry> {
    const { heldKey, offset, state, line, id } = stored
    const place = placeIn(this.#numberingOf(partition), stored)
    const dueAt = endOfWait(this.#context.settings.clock, stored)
    return { line, id, heldKey, place, state, entry: undefined, heldAt: offset, dueAt }
  }

  /** The state of a dead-lettered event. */
  dead(partition: number, event: LineEvent<Entry>): EventRecord {
    return deadRecord(event.heldKey, event, this.#numberingOf(partition))
  }

  /** The state of an event that waits. Without a log, its attempts are those in its record. */
  waiting(
    { heldKey, line, place, id }: LineEvent<Entry>,
    { record, partition }: Entry,
    log: AttemptLog | undefined,
    waitMs: number,
  ): EventRecord {
    const { settings, logOf } = this.#context
    const now = settings.clock.now()
    const read = logOf(record)
    const notBefore = waitMs > 0 ? now + waitMs : 0
    return waitingRecord(
      heldKey,
      { line, place, id, notBefore, waitMs, ...this.#numberingOf(partition.partition) },
      record,
      read.origin,
      log ?? read.log,
    )
  }

  /** Answers whether the states are durable, and the partition is still ours. Then the events know where their states are. */
  async write(
    partition: AssignedPartition,
    records: readonly EventRecord[],
    events: readonly LineEvent<Entry>[] = [],
  ): Promise<boolean> {
    const writes = this.#writes.get(partition.partition) ?? new PendingWork()
    this.#writes.set(partition.partition, writes)
    writes.begin()
    try {
      let offsets: readonly number[] = []
      const isDurable = await this.#context.persist(partition, 'settlements', async () => {
        offsets = await this.#held.write(partition.partition, records, () => partition.isOurs)
      })
      if (isDurable) for (const [index, event] of events.entries()) event.heldAt = offsets[index]
      return isDurable
    } finally {
      writes.end()
    }
  }

  #numberingOf(partition: number): PlaceNumbering {
    const numbering = this.#numberings.get(partition)
    if (numbering === undefined) throw new Error(`partition ${partition} has no numbering of places`)
    return numbering
  }
}
