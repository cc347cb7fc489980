import type { Federation, NamedStore } from '../stores/federation.ts'
import type { DeadLetterQueueDepth, QueueDepths } from '../stores/queue-depths.ts'
import type { CollectorAssignment } from '../work/collecting.ts'

/**
 * The messages in dead-letter queues by channel, assigned to one store: the store of their collector, else the first
 * store. Each message therefore counts once. While a broker does not answer, its last depths stay in use, because an
 * outage must not look like an empty queue.
 */
export class StoreQueueDepths {
  readonly #depths: QueueDepths
  readonly #collectors: readonly CollectorAssignment[]
  readonly #stores: Federation
  #last: readonly DeadLetterQueueDepth[] = []

  constructor(depths: QueueDepths, collectors: readonly CollectorAssignment[], stores: Federation) {
    this.#depths = depths
    this.#collectors = collectors
    this.#stores = stores
  }

  async of({ name }: NamedStore): Promise<ReadonlyMap<string, number>> {
    const { queues, down } = await this.#depths.cached()
    const answered = new Set(queues.map(keyOf))
    const lastHeard = this.#last.filter(each => down.includes(each.broker) && !answered.has(keyOf(each)))
    this.#last = [...queues, ...lastHeard]
    const byChannel = new Map<string, number>()
    for (const { broker, channel, depth } of this.#last)
      if (this.#storeOf(broker) === name && depth > 0)
        byChannel.set(channel, (byChannel.get(channel) ?? 0) + depth)
    return byChannel
  }

  #storeOf(broker: string): string | undefined {
    const into = this.#collectors.find(({ collector }) => collector.name === broker)?.store
    return into ?? this.#stores.all[0]?.name
  }
}

function keyOf({ broker, queue }: DeadLetterQueueDepth): string {
  return `${broker}\n${queue}`
}
