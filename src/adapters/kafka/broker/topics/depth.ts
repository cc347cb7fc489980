import type { Cluster } from '../../connection/cluster.ts'
import { allPartitions, readOffsets, readProgress } from '../group/offsets.ts'
import type { HandlerTopics } from './names.ts'

/** How many records a group has not settled: those after its commits, without those that its commits name as settled. */
export async function depthOf(
  cluster: Cluster,
  { group, channel, again, retries }: HandlerTopics,
): Promise<number> {
  const found = await cluster.topics([channel, again, ...retries.map(({ name }) => name)])
  if (found.size === 0) return 0
  const stored = await readProgress(cluster, group, [...found.values()].map(allPartitions))
  // Without a commit for the channel the handler has never subscribed.
  if (!stored.has(channel)) return 0
  let depth = 0
  for (const info of found.values()) {
    const ends = await readOffsets(cluster, info, 'latest')
    const starts = await readOffsets(cluster, info, 'earliest')
    ends.forEach((end, partition) => {
      const progress = stored.get(info.name)?.get(partition)
      const position = Math.max(progress?.position ?? 0, starts[partition] ?? 0)
      const settled = (progress?.settled ?? []).reduce((sum, [from, to]) => sum + to - from, 0)
      depth += Math.max(0, end - position - settled)
    })
  }
  return depth
}

/** The number of records in a topic; undefined if there is no such topic. */
export async function recordsIn(cluster: Cluster, topic: string): Promise<number | undefined> {
  const info = (await cluster.topics([topic])).get(topic)
  if (info === undefined) return undefined
  const ends = await readOffsets(cluster, info, 'latest')
  const starts = await readOffsets(cluster, info, 'earliest')
  return ends.reduce((sum, end, partition) => sum + end - (starts[partition] ?? 0), 0)
}
