import type { Cluster, TopicInfo } from '../../connection/cluster.ts'
import { readFrom } from '../../connection/read-partition.ts'
import { readOffsets } from '../group/offsets.ts'
import { type HeldState, readHeld } from './held-record.ts'

/**
 * Reads the states in a partition of a held topic from this offset to the end, and answers where the end was. A state that is
 * undefined says that its event is resolved.
 */
export async function readStates(
  cluster: Cluster,
  info: TopicInfo,
  partition: number,
  from: number,
  see: (heldKey: string, state: HeldState | undefined, offset: number) => void,
): Promise<number> {
  const first = (await readOffsets(cluster, info, 'earliest'))[partition] ?? 0
  const end = (await readOffsets(cluster, info, 'latest'))[partition] ?? 0
  for (let at = Math.max(first, from); at < end; ) {
    // The leader can change while a large topic is read.
    const current = (await cluster.topic(info.name)) ?? info
    const { records, nextOffset } = await readFrom(cluster, current, partition, at)
    for (const record of records) see(record.key?.toString('utf8') ?? '', readHeld(record), record.offset)
    at = nextOffset
  }
  return end
}
