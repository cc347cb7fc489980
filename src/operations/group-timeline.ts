import {
  beginningOf,
  type GroupBeginning,
  type ReleaseMark,
  releaseMarks,
} from '../core/dead-letter/group-beginning.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { InstanceReport } from '../ports/fleet.ts'
import type { Group } from '../ports/groups.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const BUCKET_SIZES_MS = [
  ...[MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS],
  ...[3 * HOUR_MS, 12 * HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS],
]
const MAX_BUCKETS = 60
/** The letters that are read for the releases: the oldest and the newest of the group, and those of its channel before it. */
const OLDEST_READ = 100
const NEWEST_READ = 50
const BEFORE_READ = 100
const MAX_MARKS = 20

/** The letters of a group over time, from its first failure until now, with the releases. */
export interface GroupTimeline {
  readonly from: number
  readonly bucketMs: number
  /** Letters by their last failure, the oldest bucket first. */
  readonly counts: readonly number[]
  /** The releases that began in this time, as far as they are known. */
  readonly releases: readonly ReleaseMark[]
  /** Undefined unless the data says it. */
  readonly began: GroupBeginning | undefined
  /** The number of letters of the group whose release was looked at. */
  readonly examined: number
}

/** Reads the timeline of a group, masked. It counts by the indexes of the store and reads 250 letters at most. */
export async function readGroupTimeline(
  store: Pick<DeadLetterStore, 'list' | 'timeline'>,
  { id, firstSeenAt }: Pick<Group, 'id' | 'firstSeenAt'>,
  reports: readonly InstanceReport[],
  masks: Masks,
  now: number,
): Promise<GroupTimeline> {
  const [oldest, newest] = await Promise.all([
    store.list({ group: id, sort: 'firstFailed', order: 'asc', limit: OLDEST_READ }),
    store.list({ group: id, limit: NEWEST_READ }),
  ])
  const letters = [...new Map([...oldest.letters, ...newest.letters].map(each => [each.id, each])).values()]
  const [first] = oldest.letters
  const began = await readBeginning(store, first, reports)
  const { from, bucketMs, buckets } = spanOf(firstSeenAt - (began?.afterMs ?? 0), now)
  const parts = [
    ...new Map(letters.map(each => [JSON.stringify([each.channel, each.handler]), each])).values(),
  ]
  const processes = reports.filter(report => parts.some(part => handles(report, part)))
  const masked = <Named extends { readonly release: string }>(named: Named): Named => ({
    ...named,
    release: masks.maskText(named.release),
  })
  return {
    ...{ from, bucketMs, began: began && masked(began), examined: letters.length },
    counts: await store.timeline({ group: id }, { from, bucketMs, buckets }),
    releases: releaseMarks(letters, processes)
      .map(mark => (mark.release === began?.release ? { ...mark, ...beginningMark(began, first!) } : mark))
      .filter(({ at }) => at >= from)
      .slice(-MAX_MARKS)
      .map(masked),
  }
}

/** The earliest known time of the release may be that of a letter of another group. */
function beginningMark({ afterMs, since }: GroupBeginning, { cycle }: DeadLetter) {
  return { at: cycle.firstFailedAt - afterMs, seenBy: since }
}

async function readBeginning(
  store: Pick<DeadLetterStore, 'list'>,
  first: DeadLetter | undefined,
  reports: readonly InstanceReport[],
): Promise<GroupBeginning | undefined> {
  if (first?.release === undefined) return undefined
  const { channel, handler, cycle } = first
  const before = await store.list({ channel, handler, before: cycle.firstFailedAt, limit: BEFORE_READ })
  return beginningOf({
    first,
    before: before.letters,
    hasOlder: before.cursor !== undefined,
    processes: reports.filter(report => handles(report, first)),
  })
}

/** Whether the process has the consumer or sink of the letter. Another one may handle its channel with releases of its own. */
function handles({ consumers, sinks }: InstanceReport, { channel, handler }: DeadLetter): boolean {
  return (
    consumers.some(each => each.channel === channel && each.handler === handler) ||
    sinks.some(each => each.name === handler && (each.channel ?? channel) === channel)
  )
}

/** The smallest buckets with which the whole time fits; of a very long time only its end. */
function spanOf(firstAt: number, now: number) {
  const bucketMs =
    BUCKET_SIZES_MS.find(size => bucketsOf(firstAt, now, size) <= MAX_BUCKETS) ?? BUCKET_SIZES_MS.at(-1)!
  const buckets = Math.min(MAX_BUCKETS, bucketsOf(firstAt, now, bucketMs))
  const end = (Math.floor(now / bucketMs) + 1) * bucketMs
  return { from: end - buckets * bucketMs, bucketMs, buckets }
}

function bucketsOf(firstAt: number, now: number, bucketMs: number): number {
  return Math.max(1, Math.floor(now / bucketMs) - Math.floor(Math.min(firstAt, now) / bucketMs) + 1)
}
