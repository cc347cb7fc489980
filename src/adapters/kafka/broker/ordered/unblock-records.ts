import type { Cluster } from '../../connection/cluster.ts'
import type { OutgoingRecord } from '../../connection/partition-queue.ts'
import { header, OWN } from '../wire/headers.ts'

/** Requests to unblock the key of an event. They go to all partitions: the id of an event does not say where its key is. */
export async function unblockRecords(
  cluster: Cluster,
  topics: readonly string[],
  eventId: string,
): Promise<readonly OutgoingRecord[]> {
  const found = await cluster.topics(topics)
  const headers = [header(OWN.unblockKey, eventId)]
  return [...found.values()].flatMap(({ name, leaders }) =>
    leaders.map((_, partition) => ({ topic: name, partition, key: null, value: null, headers })),
  )
}
