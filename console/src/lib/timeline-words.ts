import type { GroupTimeline } from '../api/types.ts'
import { span } from './times.ts'

type Mark = GroupTimeline['releases'][number]

/** The release with which the group began, in a sentence that says no more than the data. */
export function beganText({ release, afterMs, since }: NonNullable<GroupTimeline['began']>): string {
  if (afterMs === 0) return `Began with release ${release}, with its first failure.`
  const what = since === 'process' ? 'its first process started' : 'its first failure'
  return `Began with release ${release}, ${span(afterMs)} after ${what}.`
}

export function markText({ seenBy }: Mark): string {
  return seenBy === 'process' ? 'process started' : 'first failure'
}

/** Where a moment lies in the time of the timeline: from 0, its beginning, to 1. */
export function shareOf({ from, bucketMs, counts }: GroupTimeline, at: string): number {
  const share = (Date.parse(at) - Date.parse(from)) / (bucketMs * counts.length)
  return Math.min(1, Math.max(0, share))
}

const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
] as const

/** The length of a bucket as one word, where there is one. */
export function bucketName(bucketMs: number): string {
  const [size, name] = UNITS.find(([each]) => bucketMs >= each) ?? UNITS[2]
  const amount = Math.round(bucketMs / size)
  return amount === 1 ? name : `span of ${amount} ${name}s`
}
