import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { DeadLetter } from '../../../../core/dead-letter/letter.ts'
import { retryTopicFor } from '../topics/names.ts'
import type { EventRecord } from '../wire/event-codec.ts'
import { letterRecord } from '../wire/letter.ts'
import { withLog } from '../wire/record-log.ts'
import type { SubscriptionContext } from './context.ts'
import type { KafkaDelivery } from './delivery.ts'
import type { AssignedPartition } from './partition.ts'

/** Makes settlements durable: retries in a retry topic, letters in the dead-letter topic. */
export class Settler {
  readonly #context: SubscriptionContext

  constructor(context: SubscriptionContext) {
    this.#context = context
  }

  /** The event waits in a retry topic. False if the partition was lost before. */
  putBack(delivery: KafkaDelivery, log: AttemptLog, waitMs: number): Promise<boolean> {
    const { entry, origin } = delivery
    return this.#context.persist(entry.partition, 'settlements', () =>
      this.send(entry.partition, entry.record, origin, log, waitMs),
    )
  }

  keepLetter({ entry, content, origin }: KafkaDelivery, letter: DeadLetter): Promise<boolean> {
    const { partition, record } = entry
    return this.#context.persist(partition, 'letters', () =>
      this.#sendTo(this.#context.names.letters, partition, letterRecord(record, content, origin, letter)),
    )
  }

  /** Publishes a record again, once. It goes to the same partition of the other topic, with its key. */
  send(
    partition: AssignedPartition,
    record: EventRecord,
    origin: KafkaDelivery['origin'],
    log: AttemptLog,
    waitMs: number,
  ): Promise<void> {
    const wait = waitMs > 0 ? { notBefore: this.#context.settings.clock.now() + waitMs, waitMs } : undefined
    return this.#sendTo(
      retryTopicFor(this.#context.names, waitMs),
      partition,
      withLog(record, origin, log, wait),
    )
  }

  async #sendTo(topic: string, { partition }: AssignedPartition, record: EventRecord): Promise<void> {
    await this.#context.producer.send([{ topic, partition, ...record }])
  }
}
