import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { replayOf } from '../../../../core/event/replay-headers.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { KafkaDelivery } from '../consume/delivery.ts'
import type { Entry } from '../consume/partition.ts'
import { unblockRecords } from './unblock-records.ts'

/**
 * Replays that did not meet the death of their event. It can be in another partition: other programs choose the partitions of
 * their keys in their own way, an event has no key if that is not a text, and without a key it comes to any partition. When such a
 * replay is done, the key is unblocked in all partitions.
 */
export class StrayReplays {
  readonly #context: SubscriptionContext
  readonly #inPlace = new WeakSet<LineEvent<Entry>>()

  constructor(context: SubscriptionContext) {
    this.#context = context
  }

  /** A replay stands where its event died. */
  tookPlace(event: LineEvent<Entry>): void {
    this.#inPlace.add(event)
  }

  /** Resolves with whether the requests are durable, and the partition still ours. Undefined if the event is not such a replay. */
  done({ event, entry }: KafkaDelivery): Promise<boolean> | undefined {
    const { cluster, producer, names, persist } = this.#context
    const { line, partition, isHeld } = entry
    // In the channel it can be a replay for another handler, which is skipped here.
    if (!isHeld && partition.topic === names.channel) return undefined
    if (event === undefined || replayOf(event)?.handler === undefined) return undefined
    if (line !== undefined && this.#inPlace.has(line)) return undefined
    return persist(partition, 'settlements', async () => {
      await producer.send(await unblockRecords(cluster, [names.again], event.id), () => partition.isOurs)
    })
  }
}
