import type { Cluster } from '../../connection/cluster.ts'
import { allPartitions, readOffsets, readProgress } from '../group/offsets.ts'
import type { HeldCount } from '../ordered/held-count.ts'
import type { HandlerTopics } from './names.ts'

/** The events that a handler has not finished. */
interface HandlerDepth {
  /** Those of the channel. */
  readonly lag: number
  /** Those that wait for a retry or for another one of their key, and replays. */
  readonly waiting: number
}

const NONE: HandlerDepth = { lag: 0, waiting: 0 }

/**
 * Counts the records after the commits of a group, without those that its commits name as settled, and the events that wait in
 * the held topic.
 */
export async function depthOf(
  cluster: Cluster,
  heldCount: HeldCount,
  { group, channel, again, retries, held, letters }: HandlerTopics,
): Promise<HandlerDepth> {
  const found = await cluster.topics([channel, again, ...retries.map(({ name }) => name), held, letters])
  const heldInfo = found.get(held)
  const read = [...found.values()].filter(({ name }) => name !== held && name !== letters)
  if (read.length === 0) return NONE
  const stored = await readProgress(cluster, group, read.map(allPartitions))
  // Without both the handler has never subscribed. A topic that was deleted and created again has no commit at first.
  if (!stored.has(channel) && !found.has(letters)) return NONE
  let lag = 0
  let waiting = heldInfo === undefined ? 0 : await heldCount.count(heldInfo)
  for (const info of read) {
    const ends = await readOffsets(cluster, info, 'latest')
    const starts = await readOffsets(cluster, info, 'earliest')
    ends.forEach((end, partition) => {
      const progress = stored.get(info.name)?.get(partition)
      const position = Math.max(progress?.position ?? 0, starts[partition] ?? 0)
      const settled = (progress?.settled ?? []).reduce((sum, [from, to]) => sum + to - from, 0)
      const left = Math.max(0, end - position - settled)
      if (info.name === channel) lag += left
      else waiting += left
    })
  }
  return { lag, waiting }
}

/** The number of records in a topic; undefined if there is no such topic. */
export async function recordsIn(cluster: Cluster, topic: string): Promise<number | undefined> {
  const info = (await cluster.topics([topic])).get(topic)
  if (info === undefined) return undefined
  const ends = await readOffsets(cluster, info, 'latest')
  const starts = await readOffsets(cluster, info, 'earliest')
  return ends.reduce((sum, end, partition) => sum + end - (starts[partition] ?? 0), 0)
}
