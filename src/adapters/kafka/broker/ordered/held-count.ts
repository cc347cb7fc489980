import { monotonicNow } from '../../../../ports/clock.ts'
import type { Cluster, TopicInfo } from '../../connection/cluster.ts'
import { readStates } from './held-states.ts'

/** Kafka removes the record that resolves an event after a day. Without it the event would always be counted. */
const READ_AGAIN_MS = 43_200_000

interface PartitionCount {
  /** The offset up to which it was read. */
  readTo: number
  readonly waiting: Set<string>
}

interface TopicCount {
  readonly id: string
  readonly partitions: PartitionCount[]
  readAt: number
}

/**
 * Counts the events that wait in held topics. The states of a topic are read once; the next count reads only those that came
 * since.
 */
export class HeldCount {
  readonly #cluster: Cluster
  readonly #topics = new Map<string, TopicCount>()
  #counting: Promise<unknown> = Promise.resolve()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** One count at a time: the next one goes on where this one ended. */
  count(info: TopicInfo): Promise<number> {
    const counted = this.#counting.then(() => this.#count(info))
    this.#counting = counted.catch(() => {})
    return counted
  }

  async #count(info: TopicInfo): Promise<number> {
    const { partitions } = this.#known(info)
    let waiting = 0
    for (const number of info.leaders.keys()) {
      const partition = partitions[number] ?? { readTo: 0, waiting: new Set() }
      partitions[number] = partition
      partition.readTo = await readStates(this.#cluster, info, number, partition.readTo, (heldKey, state) => {
        if (state?.state === 'waiting') partition.waiting.add(heldKey)
        else partition.waiting.delete(heldKey)
      })
      waiting += partition.waiting.size
    }
    return waiting
  }

  #known({ name, id }: TopicInfo): TopicCount {
    const now = monotonicNow(this.#cluster.clock)
    const known = this.#topics.get(name)
    const isUsable = known?.id === id && now - known.readAt < READ_AGAIN_MS
    const count = isUsable ? known : { id, partitions: [], readAt: now }
    count.readAt = now
    this.#topics.set(name, count)
    return count
  }
}
