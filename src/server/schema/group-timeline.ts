import * as z from 'zod'
import { count, optional, text, time } from './common.ts'

const seenBy = z
  .enum(['process', 'letter'])
  .describe('What shows the earliest known time of the release: the start of a process, or a letter.')

export const groupTimeline = z.object({
  from: time.describe('The start of the first bucket.'),
  bucketMs: count.describe('The length of a bucket in milliseconds.'),
  counts: z
    .array(count)
    .describe('The number of letters by their last failure: one number for each bucket until now.'),
  releases: z
    .array(
      z.object({
        release: text('The release, as its letters and processes name it, masked.'),
        at: time.describe('The earliest known time of the release.'),
        seenBy,
      }),
    )
    .describe(
      'The releases that began in this time, oldest first: of letters of the group, and of processes that handle its events. The list is bounded.',
    ),
  began: optional(
    z.object({
      release: text('The release with which the group began, masked.'),
      afterMs: count.describe(
        'How long after the earliest known time of the release the first letter of the group failed first, in milliseconds.',
      ),
      since: seenBy,
    }),
    'The release with which the group began. Absent unless the release of the first letter is known, began at most a day before, and another release was there earlier.',
  ),
  examined: count.describe('The number of letters of the group whose release was looked at.'),
})
export type GroupTimeline = z.infer<typeof groupTimeline>
