import * as z from 'zod'
import { count, faults, share, storeName, text, time } from './common.ts'

export const alertRule = z
  .enum(['depth', 'age', 'dominance', 'rate'])
  .describe(
    'The limit that the channel exceeds: number of letters, age of letters, share of one error, or letters that failed within an hour.',
  )
export type AlertRule = z.infer<typeof alertRule>

export const trend = z
  .enum(['rising', 'falling', 'stable', 'unknown'])
  .describe('The trend of `depths`; `unknown` with fewer than three snapshots.')
export type Trend = z.infer<typeof trend>

/** A limit that a channel exceeds. The alert ends after a few snapshots within the limit, so that it does not flap. */
export const channelAlert = z.object({
  store: storeName,
  channel: text('The channel of the alert.'),
  rule: alertRule,
  since: time.describe('The time at which the alert began.'),
  value: z
    .number()
    .min(0)
    .describe(
      'The latest value: letters for `depth`, milliseconds for `age`, a share for `dominance`, letters for `rate`.',
    ),
  limit: z.number().min(0).describe('The limit, in the unit of the value.'),
  error: z
    .object({
      fingerprint: text('The fingerprint of the error: the id of its group.'),
      name: text('The name of the error, masked.'),
    })
    .optional()
    .describe('The most frequent error, for `dominance`. Absent for the other rules.'),
})
export type ChannelAlert = z.infer<typeof channelAlert>

const depth = count.describe(
  'The number of dead, quarantined and parked letters, and of messages in dead-letter queues that are not letters yet.',
)
const oldestAt = time
  .optional()
  .describe('The earliest last failure of a waiting letter. Absent when none waits.')
const overAge = count.describe('The number of letters that wait for longer than the limit.')
const averageRetries = z.number().min(0).describe('The average number of retries of a letter.')

/** The last snapshot of a channel, over all stores. */
export const channelWatch = z.object({
  at: time.describe('The time of the snapshot.'),
  depth,
  oldestAt,
  overAge,
  averageRetries: averageRetries.describe('The average number of retries of the sampled letters.'),
  sampled: count.describe('The number of letters in the sample: the newest ones.'),
  errors: z
    .array(
      z.object({
        fingerprint: text('The fingerprint of the error: the id of its group.'),
        name: text('The name of the error, masked.'),
        count: count.describe('The number of sampled letters with this error.'),
        share: share.describe('The share of the sample with this error, from 0 to 1.'),
      }),
    )
    .describe('The most frequent errors of the sample first.'),
  trend,
  depths: z.array(count).describe('The depths of the last snapshots, oldest first.'),
  alerts: z.array(channelAlert).describe('The alerts of the channel.'),
})
export type ChannelWatch = z.infer<typeof channelWatch>

/** One snapshot among those of a stretch of time. */
export const trendPoint = z.object({
  at: time.describe('The time of the snapshot.'),
  depth,
  overAge,
  averageRetries,
  oldestAt,
})
export type TrendPoint = z.infer<typeof trendPoint>

export const trendQuery = z.strictObject({
  hours: z.coerce
    .number()
    .min(0.1)
    .max(168)
    .default(24)
    .describe('The number of hours before now: 0.1 to 168. The default is 24.'),
})

export const channelTrend = z.object({
  channel: text('The name of the channel.'),
  from: time.describe('The begin of the time range.'),
  to: time.describe('The end of the time range.'),
  points: z
    .array(trendPoint)
    .max(240)
    .describe(
      'At most 240 snapshots, oldest first. Of more snapshots, the highest of each part of the range.',
    ),
  faults,
})
export type ChannelTrend = z.infer<typeof channelTrend>
