import { endOfWait } from '../../../../adapter-kit/ordered/end-of-wait.ts'
import { monotonicNow } from '../../../../ports/clock.ts'
import type { TopicInfo } from '../../connection/cluster.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { AssignedPartition } from '../consume/partition.ts'
import type { Settler } from '../consume/settler.ts'
import { heldMessage, resolvedRecord } from './held-record.ts'
import { type HeldEvent, HeldTopic } from './held-topic.ts'

/** The number of events that are moved at once. */
const MOVED_AT_ONCE = 100

/**
 * Moves what is held to the retry topics, for a handler that kept the order before and does not any more: nobody else would read
 * it. Dead-lettered events block no key then. A crash in between moves an event twice, and loses none.
 */
export class HeldRelease {
  readonly #context: SubscriptionContext
  readonly #settler: Settler
  readonly #held: HeldTopic
  #info: Promise<TopicInfo | undefined> | undefined

  constructor(context: SubscriptionContext, settler: Settler) {
    this.#context = context
    this.#settler = settler
    this.#held = new HeldTopic(context.cluster, context.producer, context.names)
  }

  /** Called before the first record of a partition is read. */
  async opened(assigned: AssignedPartition): Promise<void> {
    const { topic, partition } = assigned
    if (topic !== this.#context.names.channel) return
    // A handler that never kept the order has no held topic, or an old one with fewer partitions.
    if (((await this.#heldTopic())?.leaders.length ?? 0) <= partition) return
    const held = [...(await this.#held.read(partition))].sort((a, b) => a.place - b.place)
    for (let from = 0; from < held.length && assigned.isOurs; from += MOVED_AT_ONCE) {
      const some = held.slice(from, from + MOVED_AT_ONCE)
      const waiting = some.filter(({ state }) => state === 'waiting')
      await Promise.all(waiting.map(event => this.#move(assigned, event)))
      const resolved = some.map(({ heldKey }) => resolvedRecord(heldKey))
      await this.#held.write(partition, resolved, () => assigned.isOurs)
    }
  }

  /** Asked for once. */
  #heldTopic(): Promise<TopicInfo | undefined> {
    const { cluster, names } = this.#context
    this.#info ??= cluster.topic(names.held).catch(error => {
      this.#info = undefined
      throw error
    })
    return this.#info
  }

  async #move(partition: AssignedPartition, event: HeldEvent): Promise<void> {
    const { settings, logOf } = this.#context
    const found = await this.#held.record(partition.partition, event.offset, event.heldKey)
    if (found === undefined) return
    const record = heldMessage(found)
    const { log, origin } = logOf(record)
    const waitMs = endOfWait(settings.clock, event) - monotonicNow(settings.clock)
    await this.#settler.send(partition, record, origin, log, waitMs)
  }
}
