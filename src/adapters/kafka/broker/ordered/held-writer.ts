import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { PendingWork } from '../../../../adapter-kit/pending-work.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { AssignedPartition, Entry } from '../consume/partition.ts'
import type { EventRecord } from '../wire/event-codec.ts'
import { readLog } from '../wire/record-log.ts'
import { waitingRecord } from './held-record.ts'
import type { HeldTopic } from './held-topic.ts'

/** Writes the states of events to the held topic, for as long as their partition is ours. */
export class HeldWriter {
  readonly #context: SubscriptionContext
  readonly #held: HeldTopic
  readonly #writes = new Map<number, PendingWork>()

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

  /** The state of an event that waits. Without a log, its attempts are those in its record. */
  waiting(
    { heldKey, line, place, id }: LineEvent<Entry>,
    { record }: Entry,
    log: AttemptLog | undefined,
    waitMs: number,
  ): EventRecord {
    const { settings } = this.#context
    const now = settings.clock.now()
    const read = readLog(settings.name, record)
    const notBefore = waitMs > 0 ? now + waitMs : 0
    return waitingRecord(
      heldKey,
      { line, place, id, notBefore, waitMs },
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
}
