import type { Cluster, TopicInfo } from './cluster.ts'
import { fetchRecords } from './fetch.ts'
import { CODE, hasCode } from './protocol-errors.ts'
import { type FetchedRecords, readBatches } from './records.ts'

const MAX_WAIT_MS = 500
const MAX_BYTES = 4_194_304
const READ_COMMITTED = 1
const NO_SESSION = -1

/** Reads records of a partition without a consumer group: those that one request gets, from this offset on. */
export async function readFrom(
  cluster: Cluster,
  { name, id, leaders }: TopicInfo,
  partition: number,
  from: number,
  maxBytes = MAX_BYTES,
): Promise<FetchedRecords> {
  const leader = leaders[partition]
  if (leader === undefined) {
    cluster.forgetTopic(name)
    throw new Error(`partition ${partition} of '${name}' has no leader`)
  }
  const client = await cluster.client()
  const wanted = {
    partition,
    currentLeaderEpoch: -1,
    fetchOffset: BigInt(from),
    lastFetchedEpoch: -1,
    partitionMaxBytes: maxBytes,
  }
  try {
    const answer = await fetchRecords(
      client,
      await cluster.node('read', leader),
      MAX_WAIT_MS,
      1,
      maxBytes,
      READ_COMMITTED,
      0,
      NO_SESSION,
      [{ topicId: id, partitions: [wanted] }],
      [],
      '',
    )
    const found = answer.responses[0]?.partitions[0]
    if (found === undefined) throw new Error(`the answer lacks partition ${partition} of '${name}'`)
    return readBatches(client, name, partition, from, found)
  } catch (error) {
    if (!hasCode(error, CODE.offsetOutOfRange)) cluster.forgetTopic(name)
    throw error
  }
}
