import type { Cluster, TopicInfo } from '../../connection/cluster.ts'
import { answerOf, CODE, hasCode } from '../../connection/protocol-errors.ts'
import { decodeProgress, encodeProgress, type Progress, progressAt } from './progress.ts'

const ANY_REPLICA = -1
const READ_COMMITTED = 1
const NO_EPOCH = -1
const NOT_COMMITTED = -1
const NOT_A_MEMBER = -1
const WHEN = { earliest: -2n, latest: -1n } as const

/** The stored progress of a group, by topic and partition. Partitions without a commit are missing. */
type StoredProgress = ReadonlyMap<string, ReadonlyMap<number, Progress>>

/** Partitions of a topic, and its id: a topic that was deleted and created again has another id. */
interface TopicPartitions {
  readonly name: string
  readonly id: string
  readonly partitions: Iterable<number>
}

/** All partitions of a topic. */
export function allPartitions({ name, id, leaders }: TopicInfo): TopicPartitions {
  return { name, id, partitions: leaders.keys() }
}

/** Reads what a group has committed. Commits about an earlier topic of the same name do not count. */
export async function readProgress(
  cluster: Cluster,
  group: string,
  of: readonly TopicPartitions[],
): Promise<StoredProgress> {
  const { offsetFetchV8 } = await cluster.client()
  const ids = new Map(of.map(({ name, id }) => [name, id]))
  const topics = of.map(({ name, partitions }) => ({ name, partitionIndexes: [...partitions] }))
  try {
    const connection = await cluster.coordinator(group)
    const question = { groupId: group, memberId: null, memberEpoch: NO_EPOCH, topics }
    const answer = await offsetFetchV8.api.async(connection, [question], true)
    const found = new Map<string, Map<number, Progress>>()
    for (const { name, partitions: each } of answer.groups[0]?.topics ?? [])
      for (const { partitionIndex, committedOffset, metadata } of each) {
        const offset = Number(committedOffset)
        const topicId = ids.get(name)
        if (offset === NOT_COMMITTED || topicId === undefined) continue
        const progress = decodeProgress(offset, metadata, topicId)
        if (progress === undefined) continue
        const ofTopic = found.get(name) ?? new Map<number, Progress>()
        ofTopic.set(partitionIndex, progress)
        found.set(name, ofTopic)
      }
    return found
  } catch (error) {
    cluster.forgetCoordinator(group)
    throw error
  }
}

/** The first or the next offset of every partition of a topic. */
export async function readOffsets(
  cluster: Cluster,
  { name, leaders }: TopicInfo,
  when: keyof typeof WHEN,
): Promise<readonly number[]> {
  const offsets: number[] = []
  const byLeader = Map.groupBy(leaders.keys(), partition => leaders[partition])
  const { listOffsetsV7 } = await cluster.client()
  for (const [leader, partitions] of byLeader) {
    if (leader === undefined) throw new Error(`a partition of '${name}' has no leader`)
    const questions = partitions.map(partitionIndex => {
      return { partitionIndex, currentLeaderEpoch: NO_EPOCH, timestamp: WHEN[when] }
    })
    try {
      const answer = await listOffsetsV7.api.async(
        await cluster.node('control', leader),
        ANY_REPLICA,
        READ_COMMITTED,
        [{ name, partitions: questions }],
      )
      for (const { partitionIndex, offset } of answer.topics[0]?.partitions ?? [])
        offsets[partitionIndex] = Number(offset)
    } catch (error) {
      cluster.forgetTopic(name)
      throw error
    }
  }
  return offsets
}

/** A commit of one partition. */
export interface PartitionCommit {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  readonly progress: Progress
}

/** Who commits: a member in its epoch. The server refuses the commit of a member that it has expelled. */
interface CommitAuthor {
  readonly id: string
  readonly epoch: number
}

export async function commit(
  cluster: Cluster,
  group: string,
  { id, epoch }: CommitAuthor,
  commits: readonly PartitionCommit[],
): Promise<void> {
  const { offsetCommitV9 } = await cluster.client()
  const byTopic = Map.groupBy(commits, ({ topic }) => topic)
  const topics = [...byTopic].map(([name, each]) => ({
    name,
    partitions: each.map(({ partition, progress, topicId }) => ({
      partitionIndex: partition,
      committedOffset: BigInt(progress.position),
      committedLeaderEpoch: NO_EPOCH,
      committedMetadata: encodeProgress(progress, topicId),
    })),
  }))
  try {
    const connection = await cluster.coordinator(group)
    await offsetCommitV9.api.async(connection, group, epoch, id, null, topics)
  } catch (error) {
    if (answerOf(error) === undefined || hasCode(error, CODE.notCoordinator, CODE.coordinatorNotAvailable))
      cluster.forgetCoordinator(group)
    throw error
  }
}

/** A handler that subscribes for the first time begins after what is in the topic: that is committed before it joins. */
export async function commitStart(cluster: Cluster, group: string, topic: TopicInfo): Promise<void> {
  const stored = await readProgress(cluster, group, [allPartitions(topic)])
  if ((stored.get(topic.name)?.size ?? 0) > 0) return
  const offsets = await readOffsets(cluster, topic, 'latest')
  const commits = offsets.map((offset, partition) => {
    return { topic: topic.name, topicId: topic.id, partition, progress: progressAt(offset) }
  })
  try {
    await commit(cluster, group, { id: '', epoch: NOT_A_MEMBER }, commits)
  } catch (error) {
    // The group has members: another process subscribed at the same time and has done this before it joined.
    if (!hasCode(error, CODE.unknownMember, CODE.staleMemberEpoch, CODE.fencedMemberEpoch)) throw error
  }
}
